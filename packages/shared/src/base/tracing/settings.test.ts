import { expect, test } from 'vitest';
import { type Log, silentLog } from '../log.ts';
import { openTracing } from './settings.ts';
import type { TracingConfig } from './variables.ts';

async function opened(config: TracingConfig): Promise<{ isOpen: boolean; refused: unknown[] }> {
  const refused: unknown[] = [];
  const log: Log = { ...silentLog, warn: ({ variable, used }) => refused.push([variable, used]) };
  const tracing = await openTracing(config, 'lehr-test', log);
  await tracing?.close();
  return { isOpen: tracing !== undefined, refused };
}

const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:9';

test('Tracing is on when a collector is named and nothing turns it off', async () => {
  expect(await opened({})).toEqual({ isOpen: false, refused: [] });
  expect(await opened({ OTEL_EXPORTER_OTLP_ENDPOINT })).toEqual({ isOpen: true, refused: [] });
  expect(await opened({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: OTEL_EXPORTER_OTLP_ENDPOINT })).toMatchObject({
    isOpen: true,
  });
  for (const off of [{ OTEL_SDK_DISABLED: 'TRUE' }, { OTEL_TRACES_EXPORTER: 'none' }])
    expect(await opened({ OTEL_EXPORTER_OTLP_ENDPOINT, ...off })).toEqual({ isOpen: false, refused: [] });
});

test('A value that Lehr cannot use is reported with what is used in its place', async () => {
  const foreign = {
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_TRACES_SAMPLER: 'parentbased_jaeger_remote',
    OTEL_TRACES_SAMPLER_ARG: 'endpoint=http://jaeger:5778',
  };
  expect(await opened({ OTEL_EXPORTER_OTLP_ENDPOINT, ...foreign })).toEqual({
    isOpen: true,
    refused: [
      ['OTEL_EXPORTER_OTLP_PROTOCOL', 'http/protobuf'],
      ['OTEL_TRACES_SAMPLER', 'parentbased_always_on'],
      ['OTEL_TRACES_SAMPLER_ARG', '1'],
    ],
  });
  expect(await opened({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' })).toEqual({
    isOpen: false,
    refused: [['OTEL_EXPORTER_OTLP_ENDPOINT', 'no traces']],
  });
  // Without a collector they concern other programs.
  expect(await opened(foreign)).toEqual({ isOpen: false, refused: [] });
});
