/**
 * Tracing as the environment wants it: off, unless it names a collector. As OpenTelemetry's specification asks, a value that cannot be
 * used is reported and stops nothing.
 */
import type { Log } from '../log.ts';
import type { Tracing } from './tracing.ts';
import { TRACING_PROTOCOLS, TRACING_SAMPLERS, type TracingConfig } from './variables.ts';

/** Undefined when tracing is off; OpenTelemetry's SDK is then not loaded. */
export async function openTracing(
  config: TracingConfig,
  service: string,
  log: Log,
): Promise<Tracing | undefined> {
  const endpoint = config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? config.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === undefined || isOff(config)) return undefined;
  const refuse = (name: string, used: string): void =>
    log.warn({ variable: name, used }, 'a variable of OpenTelemetry cannot be used');
  if (!/^https?:$/.test(URL.canParse(endpoint) ? new URL(endpoint).protocol : '')) {
    refuse('OTEL_EXPORTER_OTLP_ENDPOINT', 'no traces');
    return undefined;
  }
  const protocol = config.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? config.OTEL_EXPORTER_OTLP_PROTOCOL;
  const { openOtlpTracing } = await import('./otlp.ts');
  return openOtlpTracing({
    service,
    log,
    protocol: oneOf(TRACING_PROTOCOLS, protocol, (used) => refuse('OTEL_EXPORTER_OTLP_PROTOCOL', used)),
    sampler: oneOf(TRACING_SAMPLERS, config.OTEL_TRACES_SAMPLER, (used) =>
      refuse('OTEL_TRACES_SAMPLER', used),
    ),
    ratio: shareOf(config.OTEL_TRACES_SAMPLER_ARG, (used) => refuse('OTEL_TRACES_SAMPLER_ARG', used)),
  });
}

const isOff = ({ OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER }: TracingConfig): boolean =>
  OTEL_SDK_DISABLED?.toLowerCase() === 'true' || OTEL_TRACES_EXPORTER === 'none';

/** The first one is the default. */
function oneOf<Value extends string>(
  allowed: readonly [Value, ...Value[]],
  value: string | undefined,
  onRefused: (used: string) => void,
): Value {
  const found = allowed.find((each) => each === value);
  if (found === undefined && value !== undefined) onRefused(allowed[0]);
  return found ?? allowed[0];
}

function shareOf(value: string | undefined, onRefused: (used: string) => void): number {
  const share = Number(value ?? 1);
  if (share >= 0 && share <= 1) return share;
  onRefused('1');
  return 1;
}
