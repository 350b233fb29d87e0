/** What is said of a metric. Base units; labels stay few and bounded (a model and its version, never a job id). */

export type MetricApp = 'api' | 'worker';

export interface MetricFacts {
  readonly name: `lehr_${string}`;
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Which processes export it. Where both do, their values add up. */
  readonly apps: readonly MetricApp[];
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
}

/** From a fast claim to a job that waited ten minutes. */
export const WAIT_S = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
] as const;
export const RUN_S = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
] as const;
/** What a process computes between two runs of a graph. */
export const HOST_S = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25] as const;
export const HTTP_S = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
] as const;
/** Ratios of a time to the shortest possible one. */
export const RATIOS = [1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100] as const;
/** Shares of a whole. */
export const SHARES = [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1] as const;
export const COUNTS = [1, 2, 4, 8, 16, 32, 64] as const;
