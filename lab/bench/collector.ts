/** Starts a collector that drops the traces it gets, as a separate program. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Collector {
  /** What sends a tenth of all traces to it. */
  readonly env: Readonly<Record<string, string>>;
  stop(): void;
}

export async function startCollector(): Promise<Collector> {
  const sink = fork(fileURLToPath(new URL('./trace-sink.ts', import.meta.url)), {
    execArgv: process.execArgv,
  });
  const [{ port }] = (await once(sink, 'message')) as [{ port: number }];
  return {
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.1',
    },
    stop: () => sink.disconnect(),
  };
}
