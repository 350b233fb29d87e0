/** Traces: spans that go to an OTLP collector. */
export { openTracing } from './settings.ts';
export {
  type Attributes,
  inPart,
  type PastSpan,
  type Span,
  type SpanEnd,
  type SpanOptions,
  type Tracing,
  traceIdOf,
} from './tracing.ts';
