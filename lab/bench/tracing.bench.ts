/** What traces cost the API: the CPU time of POST /v1/jobs with a tenth of the requests traced, beside the same API without traces. */
import { startCollector } from './collector.ts';
import type { RatioFigure } from './harness.ts';
import { openPostRate } from './post-rate.ts';

const JOBS = 500;

export const figures: readonly RatioFigure[] = [
  {
    kind: 'ratio',
    name: 'CPU of POST /v1/jobs, a tenth of the requests traced over none',
    unit: 'ms',
    target: { atMost: 1.02 },
    // As many short rounds as for the cost of metrics.
    rounds: 201,
    open: async () => {
      const { env, stop } = await startCollector();
      // The exporter reads its address itself.
      process.env.OTEL_EXPORTER_OTLP_ENDPOINT = env.OTEL_EXPORTER_OTLP_ENDPOINT;
      const traced = await openPostRate({ env, jobs: JOBS });
      const untraced = await openPostRate({ jobs: JOBS });
      return {
        ours: async () => (await traced.post()).cpuMs,
        baseline: async () => (await untraced.post()).cpuMs,
        close: async () => {
          await Promise.all([traced.close(), untraced.close()]);
          stop();
        },
      };
    },
  },
];
