/**
 * The end of a job, in this order: object, then record, then the BullMQ job. Each step may be repeated; a crash between any
 * two leaves a job whose lease runs out, and whoever claims it next finds the record ended and only closes it.
 */
import { type Clock, ERROR_CODES, type JobError, type JobState, LehrError, type Log } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { GroupQueues } from '@lehr/shared/queue';
import type { Move, RecordStore } from '@lehr/shared/records';
import type { SampleTimings } from '../engine/protocol.ts';
import { encodeImage, type Pixels } from './image-file.ts';
import type { JobRun, Picture, SampleRun, StopReason } from './job-run.ts';
import { timingsOf, totalOf } from './timeline.ts';

export interface DeliveryOptions {
  readonly store: ObjectStore;
  readonly records: RecordStore;
  readonly queues: GroupQueues;
  readonly clock: Clock;
  readonly log: Log;
  readonly worker: string;
  /** How long a picture's bytes are held and offered to a store that refuses them. */
  readonly storePatienceMs: number;
  /** The lease is about to be given up and need not be renewed any more. */
  readonly onClosing: (run: JobRun) => void;
}

const FIRST_RETRY_MS = 200;
const MAX_RETRY_MS = 5_000;

export class Delivery {
  readonly #options: DeliveryOptions;
  /** Uploads that have failed at least once and are being retried: while there are any, no new job should be taken. */
  #struggling = 0;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  get storeIsFailing(): boolean {
    return this.#struggling > 0;
  }

  /** Encodes and stores one picture. Rejects with `storage-failed` when the store refuses it for too long. */
  async storePicture(
    run: JobRun,
    sample: SampleRun,
    pixels: Pixels,
    engine: SampleTimings,
    batchSize: number,
  ): Promise<Picture> {
    const { request, index, submittedAt } = sample;
    const file = await encodeImage(pixels, run.input.output_format, {
      job: run.record.id,
      model: run.record.model,
      seed: request.seed,
      steps: request.steps,
      sampler: request.sampler,
      guidance: request.guidance,
      ...(run.input.embed_prompt && { prompt: request.prompt, negative_prompt: request.negativePrompt }),
    });
    const encodedAt = this.#options.clock.monotonic();
    const key = run.outputKey(index, file.extension);
    const stored = await this.#patiently(run, () =>
      this.#options.store.put(key, file.bytes, { contentType: file.contentType, signal: run.signal }),
    );
    const image = {
      key,
      content_type: stored.contentType,
      width: pixels.width,
      height: pixels.height,
      bytes: stored.bytes,
      sha256: stored.sha256,
      seed: request.seed,
    };
    return {
      image,
      times: { submittedAt, engine, encodedAt, uploadedAt: this.#options.clock.monotonic() },
      batchSize,
    };
  }

  /** Ends a job whose pictures are all stored. Returns the end we wrote; undefined when the job was not ours any more. */
  async succeed(run: JobRun): Promise<JobState | undefined> {
    const pictures = run.samples.map((sample) => sample.picture).filter((picture) => picture !== undefined);
    const queuedMs = run.record.state === 'running' ? run.record.started_at - run.record.created_at : 0;
    const timings = timingsOf(
      queuedMs,
      run.claimedAt,
      pictures.map((picture) => picture.times),
    );
    const totalMs = totalOf(timings);
    const batchSize = pictures.reduce((sum, picture) => sum + picture.batchSize, 0) / pictures.length;
    return this.#end(run, {
      move: 'succeed',
      fields: {
        output: { images: pictures.map((picture) => picture.image) },
        metrics: {
          queue_ms: timings.queued,
          run_ms: totalMs - timings.queued,
          total_ms: totalMs,
          batch_size: Math.round(batchSize * 100) / 100,
          worker: this.#options.worker,
          timings,
        },
      },
    });
  }

  /** Ends, or hands back, a job that stopped early; removes what this attempt had stored. Returns as `succeed` does. */
  async stop(run: JobRun, reason: StopReason): Promise<JobState | undefined> {
    const state = await this.#endEarly(run, reason);
    await this.#removeOutputs(run, (key) => key.includes(`/${run.lease}/`));
    return state;
  }

  async #endEarly(run: JobRun, reason: StopReason): Promise<JobState | undefined> {
    switch (reason.kind) {
      case 'lost':
        return undefined;
      case 'handed-back':
        return this.#handBack(run);
      case 'canceled':
        return this.#end(run, { move: 'cancel' }, 'canceled by its owner');
      case 'expired':
        return this.#end(run, { move: 'expire' }, 'deadline passed');
      case 'failed': {
        const fields = { error: jobError(reason) };
        return this.#end(run, { move: 'fail', fields }, `${reason.code}: ${reason.message}`);
      }
    }
  }

  async #handBack(run: JobRun): Promise<undefined> {
    const { records, queues } = this.#options;
    this.#options.onClosing(run);
    await this.#persistently(() =>
      records.apply([{ move: 'requeue', id: run.record.id, lease: run.lease, refund: true }]),
    );
    await this.#persistently(() => queues.of(run.claim.queue).handBack(run.claim));
  }

  /** Writes the record's end, then closes the BullMQ job. `reason` marks it failed there, for the admin page. */
  async #end(
    run: JobRun,
    end: Pick<Move, 'move' | 'fields'>,
    reason?: string,
  ): Promise<JobState | undefined> {
    const { records, queues, log } = this.#options;
    const move = { ...end, id: run.record.id, lease: run.lease };
    const [outcome] = await this.#persistently(() => records.apply([move]));
    const isOurs = outcome.code === 'ok' || outcome.code === 'same';
    log[isOurs ? 'info' : 'warn'](
      { job: run.record.id, state: outcome.state, code: outcome.code, attempt: outcome.attempt },
      isOurs ? `job ${outcome.state}` : 'job had ended or moved on; this result is dropped',
    );
    if (!isOurs) await this.#removeOutputs(run, (key) => key.includes(`/${run.lease}/`));
    if (outcome.code === 'stale') return undefined;
    this.#options.onClosing(run);
    const queue = queues.of(run.claim.queue);
    await this.#persistently(() =>
      reason === undefined ? queue.complete(run.claim) : queue.fail(run.claim, reason),
    );
    // An earlier attempt may have died after storing something.
    if (isOurs && end.move === 'succeed' && outcome.attempt > 1) {
      await this.#removeOutputs(run, (key) => !key.includes(`/${run.lease}/`));
    }
    return isOurs && outcome.state !== '' ? outcome.state : undefined;
  }

  async #removeOutputs(run: JobRun, mine: (key: string) => boolean): Promise<void> {
    const { store, log } = this.#options;
    try {
      for await (const key of store.list(run.outputFolder)) if (mine(key)) await store.delete(key);
    } catch (error) {
      log.warn({ job: run.record.id, error }, 'outputs nobody will see could not be removed; retention will');
    }
  }

  /** Tries an upload again until it works, the job stops, or patience runs out. */
  async #patiently<T>(run: JobRun, upload: () => Promise<T>): Promise<T> {
    const { clock, log, storePatienceMs } = this.#options;
    const giveUpAt = clock.monotonic() + storePatienceMs;
    let struggling = 0;
    try {
      for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, MAX_RETRY_MS)) {
        try {
          return await upload();
        } catch (error) {
          if (run.signal.aborted) throw error;
          if (clock.monotonic() > giveUpAt) {
            throw new LehrError('storage-failed', 'The result could not be written to the store', {
              cause: error,
            });
          }
          if (struggling === 0) {
            struggling = 1;
            this.#struggling += 1;
          }
          log.warn(
            { job: run.record.id, error, retryInMs: delayMs },
            'store refused an output; trying again',
          );
          await clock.sleep(delayMs * (0.5 + Math.random() / 2), run.signal);
        }
      }
    } finally {
      this.#struggling -= struggling;
    }
  }

  /** Ends are written through a Redis outage of any length; what must not happen twice is fenced by the lease. */
  async #persistently<T>(write: () => Promise<T>): Promise<T> {
    for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, MAX_RETRY_MS)) {
      try {
        return await write();
      } catch (error) {
        this.#options.log.warn({ error, retryInMs: delayMs }, 'Redis refused the end of a job; trying again');
        await this.#options.clock.sleep(delayMs);
      }
    }
  }
}

function jobError(reason: Extract<StopReason, { kind: 'failed' }>): JobError {
  const { title, retryable } = ERROR_CODES[reason.code];
  return { code: reason.code, title, detail: reason.message, retryable };
}
