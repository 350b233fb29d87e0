/**
 * Chooses the samples that join the running batch at a step boundary. A pure function.
 *
 * Shortest remaining work first, so that a 4-step sample does not wait behind 50-step ones; with ageing, so that a long
 * sample does not starve: waiting lowers its rank as if it had fewer steps to go.
 */

export interface LaneMember {
  readonly rows: number;
  readonly stepsLeft: number;
  /** On the clock of `LaneState.now`, in ms. */
  readonly arrivedAt: number;
  /** The most samples that may be in the lane at once, this one included. */
  readonly maxBatchMates: number;
}

export interface LaneState<Sample> {
  readonly waiting: readonly Sample[];
  readonly running: readonly Sample[];
  readonly rowCap: number;
  readonly now: number;
}

/** A sample that has waited one second is ranked as if it had this many steps fewer. */
export const AGEING_STEPS_PER_S = 10;

/**
 * The samples that join now, in order. A sample with more rows than the cap still joins an empty lane, or it would never
 * run. A sample that does not fit yet blocks those behind it, or a stream of narrow samples would keep a wide one out.
 */
export function admit<Sample extends LaneMember>(lane: LaneState<Sample>): Sample[] {
  const { waiting, running, rowCap, now } = lane;
  const rank = ({ stepsLeft, arrivedAt }: Sample): number =>
    stepsLeft - ((now - arrivedAt) / 1000) * AGEING_STEPS_PER_S;
  let rows = running.reduce((sum, sample) => sum + sample.rows, 0);
  let maxBatchMates = Math.min(...running.map((sample) => sample.maxBatchMates));
  const joining: Sample[] = [];
  for (const sample of [...waiting].sort((a, b) => rank(a) - rank(b))) {
    const samples = running.length + joining.length + 1;
    const fits = samples === 1 || rows + sample.rows <= rowCap;
    if (!fits || samples > Math.min(maxBatchMates, sample.maxBatchMates)) break;
    joining.push(sample);
    rows += sample.rows;
    maxBatchMates = Math.min(maxBatchMates, sample.maxBatchMates);
  }
  return joining;
}
