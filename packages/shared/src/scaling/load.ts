/**
 * Estimates how much work arrives, from what is seen of a pool now and then: work that arrived is what the queue grew by, and what
 * the workers have done in the meantime. So nothing has to count arrivals.
 */

/** One look at a pool: [when in ms, engine ms that wait, engine ms that the workers have done since the first look]. */
export type LoadSample = readonly [atMs: number, backlogMs: number, doneMs: number];

/** Work that arrived longer ago says little about now; less would follow every gap between two jobs. */
export const LOAD_WINDOW_MS = 120_000;
/** The samples are this far apart, so that their number is bounded. */
const SPACING_MS = LOAD_WINDOW_MS / 24;
/** If a pool was not looked at for longer, what its workers did meanwhile is not known. */
const MAX_GAP_MS = 60_000;

export interface Look {
  readonly atMs: number;
  readonly backlogMs: number;
  /** How many workers' worth of work runs. */
  readonly busy: number;
}

/** The last sample is always this look. `busy` is taken to have been so since the look before. */
export function addLook(
  samples: readonly LoadSample[],
  { atMs, backlogMs, busy }: Look,
): readonly LoadSample[] {
  const last = samples.at(-1);
  if (!last || atMs < last[0] || atMs - last[0] > MAX_GAP_MS) return [[atMs, backlogMs, 0]];
  const look: LoadSample = [atMs, backlogMs, Math.round(last[2] + busy * (atMs - last[0]))];
  const before = samples.at(-2);
  const kept = before && last[0] - before[0] < SPACING_MS ? samples.slice(0, -1) : samples;
  const recent = kept.filter(([at]) => at >= atMs - LOAD_WINDOW_MS);
  return [...recent, look];
}

export interface Load {
  /** Workers' worth of work that arrives: engine ms per ms. */
  readonly arriving: number;
  /** How much this grows, per ms; negative when it falls. */
  readonly growth: number;
}

/** Both are 0 until there are two looks. */
export function loadOf(samples: readonly LoadSample[]): Load {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last[0] === first[0]) return { arriving: 0, growth: 0 };
  const half = (first[0] + last[0]) / 2;
  const middle = samples.reduce((best, each) =>
    Math.abs(each[0] - half) < Math.abs(best[0] - half) ? each : best,
  );
  const whole = rateBetween(first, last);
  // Two halves of less than this are too short to be compared.
  const isLong = last[0] - first[0] >= LOAD_WINDOW_MS / 2;
  if (!isLong || middle === first || middle === last) return { arriving: whole, growth: 0 };
  const growth = (rateBetween(middle, last) - rateBetween(first, middle)) / ((last[0] - first[0]) / 2);
  return { arriving: whole, growth };
}

const rateBetween = (from: LoadSample, to: LoadSample): number =>
  Math.max(0, (to[1] - from[1] + to[2] - from[2]) / (to[0] - from[0]));
