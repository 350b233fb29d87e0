/**
 * Previews of running pictures, for jobs that somebody follows: asks the engine for one, turns it into a small image and
 * publishes it. Of a job nobody follows nothing is asked, encoded or sent.
 */
import { type Clock, type Log, showPreview } from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';
import { encodePreview } from '../delivery/image-file.ts';
import type { FromEngine, ToEngine } from '../engine/protocol.ts';
import type { JobRun, SampleRun } from '../runs/job-run.ts';

export interface PreviewsOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  readonly send: (message: ToEngine) => void;
}

/** From one preview of a job to the next, however many pictures it has. */
const EVERY_MS = 500;

/** A job that is followed. Times are the parent's monotonic clock. */
interface Followed {
  askedAt: number;
  shownAt: number;
  /** One is being encoded and published. */
  isBusy: boolean;
  /** Whose turn it is among its pictures. */
  turn: number;
}

const NEVER_SHOWN: Followed = { askedAt: -EVERY_MS, shownAt: -EVERY_MS, isBusy: false, turn: 0 };

export class Previews {
  readonly #options: PreviewsOptions;
  readonly #followed = new WeakMap<JobRun, Followed>();

  constructor(options: PreviewsOptions) {
    this.#options = options;
  }

  /** Whether somebody follows this job, as its record said just now. */
  follow(run: JobRun, watched: boolean): void {
    if (!watched) this.#followed.delete(run);
    else if (!this.#followed.has(run)) this.#followed.set(run, { ...NEVER_SHOWN });
  }

  /** A sample of the job made a step: asks for a preview of the next one, if one is due. */
  stepped(run: JobRun): void {
    const followed = this.#followed.get(run);
    const now = this.#options.clock.monotonic();
    if (!followed || now - Math.max(followed.askedAt, followed.shownAt) < EVERY_MS) return;
    const running = run.inEngine.filter(({ request, step }) => request.task === 'diffusion' && step > 0);
    if (running.length === 0) return;
    const { request } = running[followed.turn % running.length];
    followed.turn += 1;
    followed.askedAt = now;
    this.#options.send({ type: 'preview', sample: request.id });
  }

  /** Publishes a preview, unless one has just been: the engine may answer two requests in one go. Never rejects. */
  async show(
    run: JobRun,
    sample: SampleRun,
    message: Extract<FromEngine, { type: 'preview' }>,
  ): Promise<void> {
    const { redis, keys, clock, log } = this.#options;
    const { record } = run;
    const { request } = sample;
    const followed = this.#followed.get(run);
    if (!followed || followed.isBusy || request.task !== 'diffusion') return;
    if (clock.monotonic() - followed.shownAt < EVERY_MS) return;
    followed.isBusy = true;
    try {
      const { pixels, width, height, step } = message;
      const { bytes, contentType } = await encodePreview({ data: pixels, width, height });
      const jobs = record.parent === undefined ? [record.id] : [record.id, record.parent];
      await showPreview(redis, keys, jobs, {
        id: record.id,
        step,
        steps: request.steps,
        index: run.samples.indexOf(sample),
        content_type: contentType,
        data: Buffer.from(bytes).toString('base64'),
      });
    } catch (error) {
      log.debug({ job: record.id, error }, 'a preview could not be shown');
    } finally {
      followed.shownAt = clock.monotonic();
      followed.isBusy = false;
    }
  }
}
