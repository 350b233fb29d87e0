/**
 * Stores the checkpoints that the engine makes, and fetches those of a job that runs again. At most one write is under way, with the
 * newest checkpoint of every picture: while Redis or the store is slow, older ones are left out.
 *
 * A checkpoint saves work and nothing depends on it: whatever fails here is logged and counted, and never fails a job.
 */
import type { Clock, Log } from '@lehr/shared';
import type { CheckpointStore, JobRecord } from '@lehr/shared/records';
import type { FromEngine, SampleId } from '../../engine/protocol/messages.ts';
import type { JobRun, SampleRun } from './job-run.ts';

/** What became of a checkpoint. */
export type CheckpointOutcome = 'written' | 'failed' | 'resumed' | 'ignored';

export interface CheckpointsOptions {
  readonly store: CheckpointStore;
  readonly clock: Clock;
  readonly log: Log;
  /** `bytes` are those that were written. */
  readonly observe: (queue: string, outcome: CheckpointOutcome, bytes?: number) => void;
}

export type CheckpointMessage = Extract<
  FromEngine,
  { type: 'checkpoints' | 'resumed' | 'checkpoint-ignored' }
>;

interface OfRun {
  readonly run: JobRun;
  readonly sample: SampleRun;
}

interface Unwritten extends OfRun {
  readonly bytes: Uint8Array;
}

/** One write of all checkpoints that wait, at the longest. */
const WRITE_MS = 8_000;
/** After a write that failed. */
const PAUSE_MS = 1_000;
/** After it, a job is handed back without its last checkpoint: it must be in its queue before the worker is stopped. */
const CLOSE_MS = 5_000;

export class Checkpoints {
  readonly #options: CheckpointsOptions;
  readonly #unwritten = new Map<SampleRun, Unwritten>();
  #isWriting = false;
  /** The write that is under way, or the last one. */
  #lastWrite: Promise<void> | undefined;

  constructor(options: CheckpointsOptions) {
    this.#options = options;
  }

  /** A message of the engine. `find` returns the sample that an id belongs to, and its run. */
  receive(message: CheckpointMessage, find: (id: SampleId) => OfRun | undefined): void {
    switch (message.type) {
      case 'checkpoints':
        for (const { id, bytes } of message.samples) this.#add(find(id), bytes);
        return;
      case 'resumed':
        this.#resumed(find(message.sample), message.step);
        return;
      case 'checkpoint-ignored':
        this.#ignored(find(message.sample), message.reason);
        return;
    }
  }

  /** The checkpoints that a job's earlier attempts left, by the index of the picture. Never rejects. */
  async read(record: JobRecord): Promise<ReadonlyMap<number, Uint8Array>> {
    if (record.checkpoint === undefined) return new Map();
    const { store, log, observe } = this.#options;
    try {
      return await store.read(record);
    } catch (error) {
      log.warn({ job: record.id, error }, 'checkpoints could not be read; the job starts at its beginning');
      observe(record.queue, 'ignored');
      return new Map();
    }
  }

  /**
   * The engine has nothing left of this run. Resolves when the checkpoints of a job that is handed back are stored, or after
   * CLOSE_MS: its lease, which the write needs, ends after that. Never rejects.
   */
  async close(run: JobRun): Promise<void> {
    if (run.stopReason?.kind === 'handed-back') {
      const isStored = new AbortController();
      await Promise.race([this.#stored(run), this.#options.clock.sleep(CLOSE_MS, isStored.signal)]);
      isStored.abort();
      return;
    }
    for (const sample of run.samples) this.#unwritten.delete(sample);
    if (run.stopReason?.kind !== 'lost') void this.#removeObjects(run);
  }

  #add(of: OfRun | undefined, bytes: Uint8Array): void {
    if (!of) return;
    const { run, sample } = of;
    // For an engine that is started again after a crash.
    sample.checkpoint = bytes;
    if (run.stopReason && run.stopReason.kind !== 'handed-back') return;
    this.#unwritten.set(sample, { run, sample, bytes });
    if (!this.#isWriting) void this.#writeAll();
  }

  #resumed(of: OfRun | undefined, step: number): void {
    if (!of) return;
    const { run, sample } = of;
    sample.step = step;
    const { id, queue } = run.record;
    this.#options.log.info({ job: id, picture: run.samples.indexOf(sample), step }, 'picture resumed');
    this.#options.observe(queue, 'resumed');
  }

  #ignored(of: OfRun | undefined, reason: string): void {
    if (!of) return;
    const { run, sample } = of;
    delete sample.checkpoint;
    const { id, queue } = run.record;
    this.#options.log.warn(
      { job: id, picture: run.samples.indexOf(sample), reason },
      'checkpoint ignored; the picture starts at its first step',
    );
    this.#options.observe(queue, 'ignored');
  }

  async #stored(run: JobRun): Promise<void> {
    while (this.#isUnwritten(run)) await this.#lastWrite;
    await this.#lastWrite;
  }

  #isUnwritten(run: JobRun): boolean {
    return run.samples.some((sample) => this.#unwritten.has(sample));
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#unwritten.size > 0) {
      const batch = [...this.#unwritten.values()];
      this.#unwritten.clear();
      this.#lastWrite = this.#write(batch);
      await this.#lastWrite;
    }
    this.#isWriting = false;
  }

  async #write(batch: readonly Unwritten[]): Promise<void> {
    const { store, clock, log, observe } = this.#options;
    const checkpoints = batch.map(({ run, sample, bytes }) => ({
      job: run.record,
      lease: run.lease,
      index: run.samples.indexOf(sample),
      bytes,
    }));
    try {
      const written = await store.write(checkpoints, AbortSignal.timeout(WRITE_MS));
      for (const [i, { run, bytes }] of batch.entries()) {
        if (written[i]) observe(run.record.queue, 'written', bytes.byteLength);
      }
    } catch (error) {
      log.warn({ error, checkpoints: batch.length }, 'checkpoints could not be stored');
      for (const { run } of batch) observe(run.record.queue, 'failed');
      await clock.sleep(PAUSE_MS);
    }
  }

  async #removeObjects(run: JobRun): Promise<void> {
    const { store, log } = this.#options;
    if (!run.samples.some(({ checkpoint }) => checkpoint)) return;
    try {
      await this.#lastWrite;
      await store.removeObjects(run.record, run.lease);
    } catch (error) {
      log.warn({ job: run.record.id, error }, 'the objects of checkpoints could not be removed');
    }
  }
}
