export interface Durations {
  readonly medianMs: number;
  readonly p95Ms: number;
}

/** Median and 95th percentile (nearest rank) of at least one duration. */
export function durationsOf(durations: readonly number[]): Durations {
  const sorted = [...durations].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  return { medianMs: at(0.5), p95Ms: at(0.95) };
}
