/**
 * Spans through OpenTelemetry's SDK, in batches to an OTLP collector. The exporter reads the address, headers, timeout, compression
 * and certificates from the standard OTEL_EXPORTER_OTLP_* variables itself. Parents are always given and never found in an
 * asynchronous context, whose hooks would slow down every promise of the process.
 */
import {
  type Context,
  DiagLogLevel,
  diag,
  type HrTime,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { systemClock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { PastSpan, Span, SpanEnd, SpanOptions, Tracing } from './tracing.ts';
import type { TracingProtocol, TracingSampler } from './variables.ts';

export interface OtlpOptions {
  /** Its name in traces, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES has another. */
  readonly service: string;
  readonly protocol: TracingProtocol;
  readonly sampler: TracingSampler;
  /** Of the samplers by trace id: the share of traces, 0 to 1. */
  readonly ratio: number;
  readonly log: Log;
}

/** A process that stops does not wait for a collector that is down, which would take ten seconds. */
const CLOSE_MS = 1_000;

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
} as const;

const SAMPLERS: Record<TracingSampler, (ratio: number) => Sampler> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: (ratio) => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
};

export function openOtlpTracing({ service, protocol, sampler, ratio, log }: OtlpOptions): Tracing {
  // The SDK reports what it could not send.
  const warn = (message: string): void => log.warn({ problem: message }, 'traces could not be sent');
  diag.setLogger(
    { error: warn, warn, info: () => {}, debug: () => {}, verbose: () => {} },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const exporter = protocol === 'http/json' ? new JsonExporter() : new ProtobufExporter();
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': service, 'process.pid': process.pid }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    sampler: SAMPLERS[sampler](ratio),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('lehr');
  return {
    start: (name, options = {}) => startSpan(tracer, name, options),
    close: async () => {
      const waiting = new AbortController();
      await Promise.race([provider.shutdown(), systemClock.sleep(CLOSE_MS, waiting.signal)]).catch(
        (error) => {
          log.warn({ error }, 'traces could not be sent');
        },
      );
      waiting.abort();
    },
  };
}

function startSpan(tracer: Tracer, name: string, options: SpanOptions): Span | undefined {
  const { parent, kind = 'internal', attributes = {}, links = [], startMs = preciseNow() } = options;
  const span = tracer.startSpan(
    name,
    {
      kind: KINDS[kind],
      attributes,
      links: links.flatMap((link) => {
        const context = parseTraceParent(link);
        return context ? [{ context }] : [];
      }),
      startTime: toHrTime(startMs),
    },
    contextOf(parent),
  );
  return span.isRecording() ? new RecordedSpan(tracer, span) : undefined;
}

class RecordedSpan implements Span {
  readonly traceparent: string;
  readonly #tracer: Tracer;
  readonly #span: OtelSpan;

  constructor(tracer: Tracer, span: OtelSpan) {
    const { traceId, spanId, traceFlags } = span.spanContext();
    this.traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
    this.#tracer = tracer;
    this.#span = span;
  }

  rename(name: string): void {
    this.#span.updateName(name);
  }

  set(attributes: NonNullable<SpanOptions['attributes']>): void {
    this.#span.setAttributes(attributes);
  }

  add(name: string, { endMs, ...options }: PastSpan): void {
    startSpan(this.#tracer, name, { ...options, parent: this.traceparent })?.end({ endMs });
  }

  async part<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const span = startSpan(this.#tracer, name, { parent: this.traceparent });
    try {
      const result = await work();
      span?.end();
      return result;
    } catch (error) {
      span?.end({ error: error instanceof Error ? error.name : 'error' });
      throw error;
    }
  }

  end({ endMs = preciseNow(), error }: SpanEnd = {}): void {
    if (error !== undefined) this.#span.setStatus({ code: SpanStatusCode.ERROR, message: error });
    this.#span.end(toHrTime(endMs));
  }
}

/** Unix time in ms, with fractions: a step may take less than one. */
const preciseNow = (): number => performance.timeOrigin + performance.now();

/** The SDK takes a number before the start of the process for a time on its monotonic clock. */
const toHrTime = (ms: number): HrTime => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];

function contextOf(traceparent: string | undefined): Context {
  const context = traceparent === undefined ? null : parseTraceParent(traceparent);
  return context ? trace.setSpanContext(ROOT_CONTEXT, { ...context, isRemote: true }) : ROOT_CONTEXT;
}
