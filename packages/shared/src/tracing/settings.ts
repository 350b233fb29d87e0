/** Tracing as the environment wants it: off, unless it names a collector. */
import type { Log } from '../log.ts';
import type { Tracing } from './tracing.ts';

export const TRACING_PROTOCOLS = ['http/protobuf', 'http/json'] as const;
export type TracingProtocol = (typeof TRACING_PROTOCOLS)[number];

export const TRACING_SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type TracingSampler = (typeof TRACING_SAMPLERS)[number];

/** The variables that a process with traces reads. */
export const TRACING_VARIABLES = [
  'OTEL_SDK_DISABLED',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_PROTOCOL',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
  'OTEL_SERVICE_NAME',
  'OTEL_RESOURCE_ATTRIBUTES',
] as const;

export interface TracingConfig {
  readonly OTEL_SDK_DISABLED: boolean;
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string | undefined;
  readonly OTEL_EXPORTER_OTLP_PROTOCOL: TracingProtocol;
  readonly OTEL_TRACES_SAMPLER: TracingSampler;
  readonly OTEL_TRACES_SAMPLER_ARG: number;
}

/** Undefined when tracing is off; OpenTelemetry's SDK is then not loaded. */
export async function openTracing(
  config: TracingConfig,
  service: string,
  log: Log,
): Promise<Tracing | undefined> {
  const endpoint = config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? config.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (config.OTEL_SDK_DISABLED || endpoint === undefined) return undefined;
  const { openOtlpTracing } = await import('./otlp.ts');
  return openOtlpTracing({
    service,
    log,
    protocol: config.OTEL_EXPORTER_OTLP_PROTOCOL,
    sampler: config.OTEL_TRACES_SAMPLER,
    ratio: config.OTEL_TRACES_SAMPLER_ARG,
  });
}
