/** OpenTelemetry's variables that Lehr knows. Clusters often set them for all their programs, so a value that Lehr cannot use is no fault. */
import { z } from 'zod';

const text = (description: string, more: object = {}) =>
  z
    .string()
    .optional()
    .meta({ description, ...more });

export const TRACING_ENV = {
  OTEL_EXPORTER_OTLP_ENDPOINT: text(
    'Base URL of an OTLP collector that is reached over HTTP, such as http://127.0.0.1:4318. API and workers send their traces there; if it is not set, nothing is traced. Further variables of the same prefix (timeout, compression, certificates) are those of OpenTelemetry.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: text(
    'The whole URL for traces, in place of `/v1/traces` below that base.',
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: text(
    'How traces are encoded: `http/protobuf`, which is the default, or `http/json`.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: text('The same, for programs that send more than traces.'),
  OTEL_EXPORTER_OTLP_HEADERS: text('Headers for the collector: `name=value`, with commas.', { secret: true }),
  OTEL_TRACES_SAMPLER: text(
    'Which requests are traced: `always_on`, `always_off` or `traceidratio`, or one of these after `parentbased_`, which follows the `traceparent` of a caller that sends one. Default: `parentbased_always_on`.',
  ),
  OTEL_TRACES_SAMPLER_ARG: text(
    'The share of traces that the samplers with `traceidratio` take, 0 to 1. Default: 1.',
  ),
  OTEL_TRACES_EXPORTER: text('`none` turns traces off.'),
  OTEL_SERVICE_NAME: text('Name of the process in traces. Default: `lehr-api` and `lehr-worker`.'),
  OTEL_RESOURCE_ATTRIBUTES: text('Further attributes of the process in traces: `name=value`, with commas.'),
  OTEL_SDK_DISABLED: text('`true` turns traces off.'),
} as const;

type Name = keyof typeof TRACING_ENV;
/** For envSchema. */
export const TRACING_VARIABLES = Object.keys(TRACING_ENV) as Name[];
export type TracingConfig = { readonly [Variable in Name]?: string | undefined };

export const TRACING_PROTOCOLS = ['http/protobuf', 'http/json'] as const;
export type TracingProtocol = (typeof TRACING_PROTOCOLS)[number];

export const TRACING_SAMPLERS = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const;
export type TracingSampler = (typeof TRACING_SAMPLERS)[number];
