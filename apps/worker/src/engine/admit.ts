/**
 * Who joins the running batch at a step boundary: a pure choice over the waiting samples.
 *
 * Shortest remaining work first, so a 4-step sample does not wait behind 50-step ones; ageing, so that a long one
 * does not wait for ever: every `AGEING_STEPS_PER_S` worth of waiting counts like steps already done.
 */

export interface Waiting {
  readonly rows: number;
  readonly steps: number;
  readonly waitedMs: number;
  /** At most this many samples may be in the lane together with it, itself included. */
  readonly maxBatchMates: number;
}

export interface LaneRoom {
  readonly rowCap: number;
  readonly rows: number;
  readonly samples: number;
  /** The smallest `maxBatchMates` of the samples in the lane. */
  readonly maxBatchMates: number;
}

/** A sample that waited one second is treated as if it had this many steps fewer to go. */
export const AGEING_STEPS_PER_S = 10;

const urgency = (sample: Waiting): number => sample.steps - (sample.waitedMs / 1000) * AGEING_STEPS_PER_S;

/**
 * The samples that join now, in the order they join. A sample too wide for the cap still runs when the lane is
 * empty: a cap must never starve anybody. A sample that does not fit yet holds back those behind it, or a stream of
 * narrow ones would keep a wide one out for ever.
 */
export function admit<Sample extends Waiting>(waiting: readonly Sample[], lane: LaneRoom): Sample[] {
  let { rows, samples, maxBatchMates } = lane;
  const joining: Sample[] = [];
  for (const sample of [...waiting].sort((a, b) => urgency(a) - urgency(b))) {
    const fits = rows + sample.rows <= lane.rowCap || samples === 0;
    if (!fits || samples + 1 > Math.min(maxBatchMates, sample.maxBatchMates)) break;
    joining.push(sample);
    rows += sample.rows;
    samples += 1;
    maxBatchMates = Math.min(maxBatchMates, sample.maxBatchMates);
  }
  return joining;
}
