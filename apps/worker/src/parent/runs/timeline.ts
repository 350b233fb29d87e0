/** The timings of a text-to-image job: consecutive parts on one clock, so that they sum to the total. */
import type { JobMetrics, Timings } from '@lehr/shared';
import type { SampleTimings } from '../../engine/protocol/messages.ts';

/** When the parts of one picture ended, in ms of this process's monotonic clock. */
export interface PictureTimes {
  /** When the sample was sent to the engine; the engine's times count from there. */
  readonly submittedAt: number;
  readonly engine: SampleTimings;
  readonly encodedAt: number;
  readonly uploadedAt: number;
}

/**
 * `queuedMs` by Redis's clock; `claimedAt` on the clock of `pictures`. With several pictures a part lasts until the last
 * of them has passed it. Whole milliseconds, each at least 0.
 */
export function timingsOf(queuedMs: number, claimedAt: number, pictures: readonly PictureTimes[]): Timings {
  const latest = (at: (picture: PictureTimes) => number): number => Math.max(...pictures.map(at));
  const startedAt = Math.min(...pictures.map((picture) => picture.submittedAt + picture.engine.startedAt));
  const textMs = Math.max(...pictures.map((picture) => picture.engine.textMs));
  const [admitted, text, denoise, decode, encode, upload] = partsOf(claimedAt, [
    startedAt - textMs,
    startedAt,
    latest((picture) => picture.submittedAt + picture.engine.denoisedAt),
    latest((picture) => picture.submittedAt + picture.engine.decodedAt),
    latest((picture) => picture.encodedAt),
    latest((picture) => picture.uploadedAt),
  ]);
  return { queued: Math.max(0, Math.round(queuedMs)), admitted, text, denoise, decode, encode, upload };
}

/** Consecutive parts from `from` to each mark, whole milliseconds: each at least 0, also where two clocks disagree. */
export function partsOf(from: number, marks: readonly number[]): number[] {
  let before = Math.round(from);
  return marks.map((mark) => {
    const at = Math.max(before, Math.round(mark));
    const part = at - before;
    before = at;
    return part;
  });
}

/** Device time of all pictures together, ms; undefined when one of them continued from a checkpoint. */
export function deviceMsOf(pictures: readonly Pick<PictureTimes, 'engine'>[]): number | undefined {
  let sum = 0;
  for (const { engine } of pictures) {
    if (engine.deviceMs === undefined) return undefined;
    sum += engine.deviceMs;
  }
  return roundedMs(sum);
}

/** To microseconds: texts take less than a millisecond. */
export const roundedMs = (ms: number): number => Math.round(ms * 1000) / 1000;

const totalOf = (timings: Readonly<Record<string, number>>): number =>
  Object.values(timings).reduce((sum, part) => sum + part, 0);

/** What the metrics of all jobs have, from parts that sum to the total; `batchSize` is null when nothing ran. */
export function metricsOf<Parts extends { readonly queued: number } & JobMetrics['timings']>(
  timings: Parts,
  batchSize: number | null,
  worker: string,
): JobMetrics {
  const totalMs = totalOf(timings);
  return {
    queue_ms: timings.queued,
    run_ms: totalMs - timings.queued,
    total_ms: totalMs,
    batch_size: batchSize === null ? null : Math.round(batchSize * 100) / 100,
    worker,
    timings,
  };
}
