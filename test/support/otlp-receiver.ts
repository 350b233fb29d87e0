/** A receiver of traces: keeps the spans that OTLP exporters send as JSON, and the bytes of every request. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { vi } from 'vitest';
import { z } from 'zod';
import { served } from './served.ts';

const ValueSchema = z
  .object({
    stringValue: z.string(),
    intValue: z.coerce.number(),
    doubleValue: z.number(),
    boolValue: z.boolean(),
  })
  .partial();
const AttributesSchema = z
  .array(z.object({ key: z.string(), value: ValueSchema }))
  .transform((list) => Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]])));

const SpanSchema = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  startTimeUnixNano: z.coerce.bigint(),
  endTimeUnixNano: z.coerce.bigint(),
  attributes: AttributesSchema,
  links: z.array(z.object({ traceId: z.string(), spanId: z.string() })).default([]),
  status: z.object({ code: z.number().optional(), message: z.string().optional() }).optional(),
});
const ExportSchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: AttributesSchema }),
      scopeSpans: z.array(z.object({ spans: z.array(SpanSchema) })),
    }),
  ),
});

export interface ReceivedSpan extends z.output<typeof SpanSchema> {
  /** The process that sent it. */
  readonly service: unknown;
}

export interface OtlpReceiver {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  readonly requests: readonly { readonly headers: IncomingHttpHeaders; readonly body: Buffer }[];
  /** Resolves with the spans of a trace when they are as wanted. */
  trace(
    traceId: string,
    isComplete: (spans: readonly ReceivedSpan[]) => boolean,
  ): Promise<readonly ReceivedSpan[]>;
}

/** An exporter sends what it has every five seconds. */
const SENT = { timeout: 60_000, interval: 100 };

export async function otlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const requests: { headers: IncomingHttpHeaders; body: Buffer }[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    requests.push({ headers: request.headers, body });
    if (request.headers['content-type'] === 'application/json') spans.push(...spansOf(body));
    response.setHeader('content-type', 'application/json').end('{}');
  });
  const url = await served(server);
  return {
    url,
    spans,
    requests,
    trace: (traceId, isComplete) =>
      vi.waitFor(() => {
        const found = spans.filter((span) => span.traceId === traceId);
        if (!isComplete(found)) throw new Error(`so far only: ${found.map(({ name }) => name).join(', ')}`);
        return found;
      }, SENT),
  };
}

const spansOf = (body: Buffer): ReceivedSpan[] =>
  ExportSchema.parse(JSON.parse(body.toString())).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({ ...span, service: resource.attributes['service.name'] })),
    ),
  );
