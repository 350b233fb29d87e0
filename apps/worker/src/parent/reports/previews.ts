/**
 * Previews of running pictures: requests one from the engine, encodes it as a small image and publishes it. Only for jobs that a
 * client follows; other jobs cost nothing.
 */
import { type Clock, type Log, showPreview } from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';
import type { FromEngine, ToEngine } from '../../engine/protocol/messages.ts';
import { encodePreview } from '../delivery/image-file.ts';
import type { JobRun, SampleRun } from '../runs/job-run.ts';

export interface PreviewsOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  readonly send: (message: ToEngine) => void;
}

/** The time between two previews of a job, whatever its number of pictures. */
const EVERY_MS = 500;

/** A job that a client follows. Times are of the monotonic clock. */
interface Followed {
  requestedAt: number;
  publishedAt: number;
  /** A preview is being encoded and published. */
  isBusy: boolean;
  /** Previews requested so far: its pictures take turns. */
  requests: number;
}

const NEVER_PUBLISHED: Followed = {
  requestedAt: -EVERY_MS,
  publishedAt: -EVERY_MS,
  isBusy: false,
  requests: 0,
};

export class Previews {
  readonly #options: PreviewsOptions;
  readonly #followed = new WeakMap<JobRun, Followed>();

  constructor(options: PreviewsOptions) {
    this.#options = options;
  }

  /** Sets whether a client follows this job. */
  follow(run: JobRun, isWatched: boolean): void {
    if (!isWatched || run.hidesPreviews) this.#followed.delete(run);
    else if (!this.#followed.has(run)) this.#followed.set(run, { ...NEVER_PUBLISHED });
  }

  /** A sample of the job finished a step: requests a preview of the next step when one is due. */
  stepped(run: JobRun): void {
    const followed = this.#followed.get(run);
    const now = this.#options.clock.monotonic();
    if (!followed || now - Math.max(followed.requestedAt, followed.publishedAt) < EVERY_MS) return;
    const running = run.samplesInEngine.filter(
      ({ request, step }) => request.task === 'diffusion' && step > 0,
    );
    if (running.length === 0) return;
    const { request } = running[followed.requests % running.length];
    followed.requests += 1;
    followed.requestedAt = now;
    this.#options.send({ type: 'preview', sample: request.id });
  }

  /** Publishes a preview, unless another was published just before: the engine may answer two requests at once. Never rejects. */
  async publish(
    run: JobRun,
    sample: SampleRun,
    message: Extract<FromEngine, { type: 'preview' }>,
  ): Promise<void> {
    const { redis, keys, clock, log } = this.#options;
    const { record } = run;
    const { request } = sample;
    const followed = this.#followed.get(run);
    if (!followed || followed.isBusy || request.task !== 'diffusion') return;
    if (clock.monotonic() - followed.publishedAt < EVERY_MS) return;
    followed.isBusy = true;
    try {
      const { pixels, width, height, step } = message;
      const { bytes, contentType } = await encodePreview({ data: pixels, width, height });
      const jobs = record.parent === undefined ? [record.id] : [record.id, record.parent];
      await showPreview(redis, keys, jobs, {
        id: record.id,
        step,
        steps: sample.steps ?? step,
        index: run.samples.indexOf(sample),
        content_type: contentType,
        data: Buffer.from(bytes).toString('base64'),
      });
    } catch (error) {
      log.debug({ job: record.id, error }, 'a preview could not be published');
    } finally {
      followed.publishedAt = clock.monotonic();
      followed.isBusy = false;
    }
  }
}
