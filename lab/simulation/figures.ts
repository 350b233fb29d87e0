/** What a simulation computes from the order in which jobs were started. */
export interface Start {
  readonly tenant: string;
  /** Redis's clock, ms. */
  readonly startedAt: number;
  readonly createdAt: number;
}

/** How many jobs of each tenant are in each `size` consecutive starts; a last, shorter part is left out. */
export function shares(order: readonly string[], tenants: readonly string[], size: number): number[][] {
  const parts: number[][] = [];
  for (let from = 0; size > 0 && from + size <= order.length; from += size) {
    const counts = new Map(tenants.map((tenant) => [tenant, 0]));
    for (const tenant of order.slice(from, from + size)) {
      const count = counts.get(tenant);
      if (count !== undefined) counts.set(tenant, count + 1);
    }
    parts.push([...counts.values()]);
  }
  return parts;
}

export const smallest = (values: readonly number[]): number =>
  values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
export const largest = (values: readonly number[]): number =>
  values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);

/** The nearest value at or above this share of all values; NaN without values. */
export function atPercent(values: readonly number[], percent: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN;
}

/**
 * Of each newcomer's job: how many other jobs were started after it was created and before it was started. `starts` is in the order
 * of time.
 */
export function startedBefore(starts: readonly Start[], isNewcomer: (tenant: string) => boolean): number[] {
  const times = starts.map(({ startedAt }) => startedAt);
  return starts
    .filter(({ tenant }) => isNewcomer(tenant))
    .map(({ createdAt, startedAt }) => Math.max(0, firstAt(times, startedAt) - firstAt(times, createdAt)));
}

/** The index of the first time that is not before `at`, in a sorted list. */
function firstAt(times: readonly number[], at: number): number {
  let [from, to] = [0, times.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (times[middle] < at) from = middle + 1;
    else to = middle;
  }
  return from;
}
