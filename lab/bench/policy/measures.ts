/** What a run of a policy is measured by. */
import { percentile } from '../harness.ts';
import type { PolicyRun } from './run-both.ts';
import { slowdownOf } from './scenarios.ts';

export const latencies = ({ ended }: PolicyRun): number[] =>
  ended.map(({ job, endedAt }) => endedAt - job.arrivesAt);

export const slowdowns = ({ ended, device }: PolicyRun): number[] =>
  ended.map((each) => slowdownOf(device, each));

export const meanSlowdown = (run: PolicyRun): number =>
  slowdowns(run).reduce((sum, each) => sum + each, 0) / run.ended.length;

/** From the first arrival to the last end. */
export const throughput = ({ ended }: PolicyRun): number =>
  (1000 * ended.length) / Math.max(...ended.map(({ endedAt }) => endedAt));

export const p99OfSteps =
  (steps: number) =>
  (run: PolicyRun): number => {
    const ended = run.ended.filter(({ job }) => job.steps === steps);
    return percentile(latencies({ ...run, ended }), 99);
  };
