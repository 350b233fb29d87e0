/**
 * What callers read of their batches: lines and answers, of which a slice may have megabytes. A tenant gets one at a time, and its next one
 * waits in proportion to its bytes, as for lists of jobs (jobs/job-pages.ts).
 */
import type { Clock, TenantId } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import { TenantTurns } from '../http/bodies/tenant-turns.ts';
import { BYTES_PER_MS } from '../jobs/job-pages.ts';
import type { BatchRecord } from './batch-store.ts';
import { type Read, readPart, readSlice } from './slices.ts';

export class BatchReads {
  readonly #store: ObjectStore;
  readonly #clock: Clock;
  /** Active requests of a tenant are few (http/turns/active-requests.ts), so none is refused here. */
  readonly #turns = new TenantTurns(Number.POSITIVE_INFINITY);

  constructor(store: ObjectStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Rejects with `gone` when they have been deleted, as `part` does. */
  slice(batch: BatchRecord, slice: number) {
    return this.#inTurn(batch.tenant, () => readSlice(this.#store, batch, slice));
  }

  part(batch: BatchRecord, slice: number) {
    return this.#inTurn(batch.tenant, () => readPart(this.#store, batch, slice));
  }

  async #inTurn<Each>(tenant: TenantId, read: () => Promise<Read<Each>>): Promise<readonly Each[]> {
    const { lines } = await this.#turns.run(tenant, read, ({ bytes }) =>
      this.#clock.sleep(bytes / BYTES_PER_MS),
    );
    return lines;
  }
}
