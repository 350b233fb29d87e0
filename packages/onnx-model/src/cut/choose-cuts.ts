export interface Cut {
  readonly value: string;
  /** The index of the last node before it. */
  readonly after: number;
  /** How much has to be handed over here. */
  readonly size: number;
}

interface Way {
  readonly pieces: number;
  /** The sum of what is handed over. */
  readonly size: number;
  readonly last?: Cut;
  readonly before?: Way;
}

/**
 * The cuts that make the fewest pieces of at most `share` of the cost; among those, the ones with the least to hand over. Where no cut is close enough, a
 * piece is as long as it must be.
 */
export function chooseCuts(costs: readonly number[], cuts: readonly Cut[], share: number): Cut[] {
  const sums = [0];
  for (const cost of costs) sums.push(sums[sums.length - 1] + cost);
  const total = sums[sums.length - 1];
  const costBefore = (cut: Cut | undefined): number => sums[cut ? cut.after + 1 : costs.length];
  const ends = [...cuts, undefined];
  const ways: { readonly at: number; readonly way: Way }[] = [{ at: 0, way: { pieces: 0, size: 0 } }];
  for (const end of ends) {
    const at = costBefore(end);
    const near = ways.filter(({ at: from }) => at - from <= share * total);
    // The last place of all is the closest one.
    const from = near.length > 0 ? near : ways.slice(-1);
    const best = from.map(({ way }) => way).reduce((a, b) => (isBetter(b, a) ? b : a));
    const way = {
      pieces: best.pieces + 1,
      size: best.size + (end?.size ?? 0),
      before: best,
      ...(end && { last: end }),
    };
    ways.push({ at, way });
  }
  const chosen: Cut[] = [];
  for (let way: Way | undefined = ways[ways.length - 1].way.before; way; way = way.before) {
    if (way.last) chosen.unshift(way.last);
  }
  return chosen;
}

const isBetter = (a: Way, b: Way): boolean =>
  a.pieces < b.pieces || (a.pieces === b.pieces && a.size < b.size);
