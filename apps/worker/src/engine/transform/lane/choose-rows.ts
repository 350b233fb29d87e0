/**
 * Chooses the rows of the next run of a model that transforms pictures, from all jobs that wait. A pure function.
 *
 * Each row goes to the job that has got the fewest, so that a picture of one tile never waits for one of a thousand. A job begins at the
 * level of the one that has got the fewest when it arrives: those that came before do not wait for all that come later.
 */
import type { PictureSize } from '../../values/resize.ts';

export interface RowSample {
  /** Of each of its rows; all rows of a run have one size. */
  readonly size: PictureSize;
  /** Rows that wait. */
  readonly waiting: number;
  /** Rows that it has got, and where it began. */
  readonly level: number;
  /** The most samples in a run with it, itself included. */
  readonly maxBatchMates: number;
}

/** In the order of their arrival. Returns how many rows each of the chosen ones gets; none when no row waits. */
export function chooseRows<Sample extends RowSample>(
  samples: readonly Sample[],
  mostRows: (size: PictureSize) => number,
): Map<Sample, number> {
  const chosen = new Map<Sample, number>();
  const ofSize = (size: PictureSize) => (sample: Sample) =>
    sample.size.width === size.width && sample.size.height === size.height;
  const first = fewest(samples, chosen);
  if (!first) return chosen;
  const candidates = samples.filter(ofSize(first.size));
  const most = mostRows(first.size);
  for (let rows = 0; rows < most; rows += 1) {
    const next = fewest(
      candidates.filter((sample) => chosen.has(sample) || mayJoin(sample, chosen)),
      chosen,
    );
    if (!next) break;
    chosen.set(next, (chosen.get(next) ?? 0) + 1);
  }
  return chosen;
}

function fewest<Sample extends RowSample>(
  samples: readonly Sample[],
  chosen: ReadonlyMap<Sample, number>,
): Sample | undefined {
  let found: Sample | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const sample of samples) {
    const got = chosen.get(sample) ?? 0;
    if (got === sample.waiting || sample.level + got >= least) continue;
    found = sample;
    least = sample.level + got;
  }
  return found;
}

function mayJoin<Sample extends RowSample>(sample: Sample, chosen: ReadonlyMap<Sample, number>): boolean {
  const mates = chosen.size + 1;
  return [sample, ...chosen.keys()].every(({ maxBatchMates }) => mates <= Math.max(1, maxBatchMates));
}
