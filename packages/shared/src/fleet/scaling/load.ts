/**
 * Estimates how much work arrives, from what is seen of a pool now and then: work that arrived is what the queue grew by, and what
 * the workers have done in the meantime. So nothing has to count arrivals.
 */

/** One look at a pool: [when in ms, engine ms that wait, engine ms that the workers have done since the first look]. */
export type LoadSample = readonly [atMs: number, backlogMs: number, doneMs: number];

/** The samples are as far apart as this part of the window, so that their number is bounded. */
const SPACING_SHARE = 1 / 24;
/** What arrives between two looks is taken to have arrived in at least this time: one job just after a look is no stream of jobs. */
const LEAST_SPAN_MS = 5_000;
/** If a pool was not looked at for longer, what its workers did meanwhile is not known. */
const MAX_GAP_MS = 60_000;

export interface Look {
  readonly atMs: number;
  readonly backlogMs: number;
  /** How many workers' worth of work runs. */
  readonly busy: number;
}

/**
 * The last sample is always this look, and the first one at most `windowMs` older. `busy` is taken to have been so since the look
 * before.
 */
export function addLook(
  samples: readonly LoadSample[],
  { atMs, backlogMs, busy }: Look,
  windowMs: number,
): readonly LoadSample[] {
  const last = samples.at(-1);
  if (!last || atMs < last[0] || atMs - last[0] > MAX_GAP_MS) return [[atMs, backlogMs, 0]];
  const look: LoadSample = [atMs, backlogMs, Math.round(last[2] + busy * (atMs - last[0]))];
  const before = samples.at(-2);
  const kept = before && last[0] - before[0] < windowMs * SPACING_SHARE ? samples.slice(0, -1) : samples;
  const recent = kept.filter(([at]) => at >= atMs - windowMs);
  return [...recent, look];
}

/** Workers' worth of work that arrives, engine ms per ms; 0 until there are two looks. */
export function arrivingOf(samples: readonly LoadSample[]): number {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last[0] === first[0]) return 0;
  const spanMs = Math.max(LEAST_SPAN_MS, last[0] - first[0]);
  return Math.max(0, (last[1] - first[1] + last[2] - first[2]) / spanMs);
}
