/** Shares a capacity fairly between holders of different amounts. */

/**
 * The level at which the amounts, each cut down to it, are `capacity` together (max-min fairness): who holds less than the level
 * keeps all, and those above it share the rest equally. Infinite when nothing has to be cut.
 */
export function fairLevel(amounts: Iterable<number>, capacity: number): number {
  const ascending = [...amounts].sort((a, b) => a - b);
  let left = capacity;
  for (const [i, amount] of ascending.entries()) {
    const level = left / (ascending.length - i);
    if (amount > level) return Math.max(0, level);
    left -= amount;
  }
  return Number.POSITIVE_INFINITY;
}
