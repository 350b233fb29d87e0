/**
 * What may be large of a tenant's batches: lists, and lines and answers, of which a slice may have megabytes. A tenant gets one at a time, and
 * its next one waits in proportion to its size, as for lists of jobs (jobs/job-pages.ts).
 */
import type { Clock, TenantId } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import { TenantTurns } from '../http/bodies/tenant-turns.ts';
import { BYTES_PER_MS } from '../jobs/job-pages.ts';
import type { BatchPage, BatchRecord, BatchStore } from './batch-store.ts';
import { type LineResult, type NumberedLine, type Read, readPart, readSlice } from './slices.ts';

/** A batch takes the event loop as long as so many bytes of a slice. */
const BATCH_BYTES = 2 ** 13;

export class BatchReads {
  readonly #batches: BatchStore;
  readonly #store: ObjectStore;
  readonly #clock: Clock;
  /** Active requests of a tenant are few (http/turns/active-requests.ts), so none is refused here. */
  readonly #turns = new TenantTurns(Number.POSITIVE_INFINITY);

  constructor(batches: BatchStore, store: ObjectStore, clock: Clock) {
    this.#batches = batches;
    this.#store = store;
    this.#clock = clock;
  }

  /** Newest first, those that are older than `after`. */
  page(tenant: TenantId, limit: number, after: string | undefined): Promise<BatchPage> {
    return this.#turns.run(
      tenant,
      () => this.#batches.page(tenant, limit, after),
      ({ batches }) => this.#pause(batches.length * BATCH_BYTES),
    );
  }

  /** Rejects with `gone` when they have been deleted, as `part` does. */
  slice(batch: BatchRecord, slice: number): Promise<readonly NumberedLine[]> {
    return this.#linesOf(batch, () => readSlice(this.#store, batch, slice));
  }

  part(batch: BatchRecord, slice: number): Promise<readonly LineResult[]> {
    return this.#linesOf(batch, () => readPart(this.#store, batch, slice));
  }

  async #linesOf<Each>({ tenant }: BatchRecord, read: () => Promise<Read<Each>>): Promise<readonly Each[]> {
    return (await this.#turns.run(tenant, read, ({ bytes }) => this.#pause(bytes))).lines;
  }

  #pause(bytes: number): Promise<void> {
    return this.#clock.sleep(bytes / BYTES_PER_MS);
  }
}
