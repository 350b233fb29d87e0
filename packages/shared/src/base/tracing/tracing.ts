/**
 * Spans, as the rest of Lehr uses them. A context travels as a W3C traceparent: from the caller's header into the record of a job,
 * from there to the worker that runs it, and to the receiver of its webhooks. It is stored only when its trace is sampled, so a job
 * without one costs nothing anywhere.
 */

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanOptions {
  /** The traceparent of the span that this one is a part of; a malformed one is ignored. Absent: a new trace. */
  readonly parent?: string | undefined;
  /** Default: `internal`. */
  readonly kind?: 'internal' | 'server' | 'client' | 'consumer';
  readonly attributes?: Attributes;
  /** Traceparents of spans that this one belongs together with, in other traces. */
  readonly links?: readonly string[];
  /** Unix time, ms. Default: now. */
  readonly startMs?: number;
}

/** A span that is over. */
export interface PastSpan extends Pick<SpanOptions, 'attributes' | 'links'> {
  readonly startMs: number;
  readonly endMs: number;
}

export interface SpanEnd {
  /** Unix time, ms. Default: now. */
  readonly endMs?: number;
  /** Marks the span as failed. It is exported: no text of a caller. */
  readonly error?: string | undefined;
}

/** A span of a sampled trace. */
export interface Span {
  readonly traceparent: string;
  rename(name: string): void;
  set(attributes: Attributes): void;
  /** Adds a child that is over. */
  add(name: string, span: PastSpan): void;
  /** Does the work in a child span, which fails when the work rejects. */
  part<Result>(name: string, work: () => Promise<Result>): Promise<Result>;
  end(end?: SpanEnd): void;
}

export interface Tracing {
  /** Undefined when the trace is not sampled. */
  start(name: string, options?: SpanOptions): Span | undefined;
  /** Sends what has ended. */
  close(): Promise<void>;
}

/** Does the work in a child of the span, if there is one. */
export const inPart = <Result>(
  span: Pick<Span, 'part'> | undefined,
  name: string,
  work: () => Promise<Result>,
): Promise<Result> => (span ? span.part(name, work) : work());

const TRACE_ID = /^[0-9a-f]{2}-([0-9a-f]{32})-/;

/** For logs: the trace that a traceparent belongs to. */
export const traceIdOf = (traceparent: string | undefined): string | undefined =>
  traceparent === undefined ? undefined : TRACE_ID.exec(traceparent)?.[1];
