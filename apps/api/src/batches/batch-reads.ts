/** What may be large of a tenant's batches, one at a time: lists, and lines and answers, of which a slice may have megabytes. */
import type { Clock, TenantId } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import { PacedReads } from '../http/bodies/paced-reads.ts';
import type { BatchPage, BatchRecord, BatchStore } from './batch-store.ts';
import { type LineResult, type NumberedLine, type Read, readPart, readSlice } from './slices.ts';

/** A batch takes the event loop as long as so many bytes of a slice. */
const BATCH_BYTES = 2 ** 13;

export class BatchReads {
  readonly #batches: BatchStore;
  readonly #store: ObjectStore;
  readonly #reads: PacedReads;

  constructor(batches: BatchStore, store: ObjectStore, clock: Clock) {
    this.#batches = batches;
    this.#store = store;
    this.#reads = new PacedReads(clock);
  }

  /** Newest first, those that are older than `after`. */
  page(tenant: TenantId, limit: number, after: string | undefined): Promise<BatchPage> {
    return this.#reads.run(
      tenant,
      () => this.#batches.page(tenant, limit, after),
      ({ batches }) => batches.length * BATCH_BYTES,
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
    return (await this.#reads.run(tenant, read, ({ bytes }) => bytes)).lines;
  }
}
