/** Rounds in which several sides do the same work one after the other, so that other load of the machine affects all of them. */
import { percentile } from '../../bench/harness.ts';
import type { Row } from '../section.ts';

export interface Timed<Side> {
  readonly side: Side;
  /** One value for each round. */
  readonly values: readonly number[];
}

/** One round warms up and is not counted. The order rotates from round to round. */
export async function interleaved<Side>(
  sides: readonly Side[],
  rounds: number,
  run: (side: Side) => Promise<number>,
): Promise<Timed<Side>[]> {
  const values = new Map(sides.map((side) => [side, [] as number[]]));
  for (let round = -1; round < rounds; round++) {
    for (let turn = 0; turn < sides.length; turn++) {
      const side = sides[(turn + round + sides.length) % sides.length];
      const value = await run(side);
      if (round >= 0) values.get(side)?.push(value);
    }
  }
  return [...values].map(([side, taken]) => ({ side, values: taken }));
}

/** Lehr's median divided by that of the other side, so that the columns of a table agree; the spread is that of the rounds' ratios. */
export function ratioRow(
  what: string,
  lehr: readonly number[],
  other: readonly number[],
  { unit, atLeast, atMost }: { unit: string; atLeast?: number; atMost?: number },
): Row {
  const ratios = lehr.map((value, i) => value / other[i]);
  const [ours, theirs] = [percentile(lehr, 50), percentile(other, 50)];
  const figure = ours / theirs;
  const wanted = atLeast === undefined ? `<= ${atMost}` : `>= ${atLeast}`;
  const hasTarget = atLeast !== undefined || atMost !== undefined;
  return {
    what,
    lehr: ours,
    other: theirs,
    unit,
    figure,
    spread: [Math.min(...ratios), Math.max(...ratios)],
    ...(hasTarget && {
      wanted,
      met: figure >= (atLeast ?? 0) && figure <= (atMost ?? Number.POSITIVE_INFINITY),
    }),
  };
}
