/** What traces cost the API: the CPU time of POST /v1/jobs with a tenth of the requests traced, beside the same API without traces. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { RatioFigure } from './harness.ts';
import { openPostRate } from './post-rate.ts';

const SHARE = '0.1';

export const figures: readonly RatioFigure[] = [
  {
    kind: 'ratio',
    name: 'CPU of POST /v1/jobs, a tenth of the requests traced over none',
    unit: 'ms',
    target: { atMost: 1.02 },
    rounds: 15,
    open: async () => {
      const sink = fork(fileURLToPath(new URL('./trace-sink.ts', import.meta.url)), {
        execArgv: process.execArgv,
      });
      const [{ port }] = (await once(sink, 'message')) as [{ port: number }];
      const endpoint = `http://127.0.0.1:${port}`;
      // The exporter reads its address itself.
      process.env.OTEL_EXPORTER_OTLP_ENDPOINT = endpoint;
      const traced = await openPostRate({
        env: {
          OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
          OTEL_TRACES_SAMPLER: 'traceidratio',
          OTEL_TRACES_SAMPLER_ARG: SHARE,
        },
      });
      const untraced = await openPostRate();
      return {
        ours: async () => (await traced.post()).cpuMs,
        baseline: async () => (await untraced.post()).cpuMs,
        close: async () => {
          await Promise.all([traced.close(), untraced.close()]);
          sink.disconnect();
        },
      };
    },
  },
];
