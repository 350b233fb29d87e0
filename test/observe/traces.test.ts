/** Traces of jobs, as a collector receives them from API and workers. */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Job } from '../../packages/shared/src/index.ts';
import { type OtlpReceiver, otlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.ts';
import { freePort } from '../support/ports.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { served } from '../support/served.ts';
import { SAMPLES } from '../support/speech-files.ts';
import { speechModels } from '../support/speech-models.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { webhookReceiver } from '../support/webhook-receiver.ts';
import { drawTrace } from './trace-picture.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const tracedTo = ({ url }: Pick<OtlpReceiver, 'url'>): Record<string, string> => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
});

interface Caller {
  readonly traceId: string;
  readonly spanId: string;
  readonly headers: Record<string, string>;
}

function caller(flags = '01'): Caller {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-${flags}` } };
}

async function submit(stack: Stack, request: object, headers: Record<string, string>): Promise<Job> {
  const response = await stack.ask('POST', '/v1/jobs', request, headers);
  const body = (await response.json()) as Job;
  expect(response.status, JSON.stringify(body)).toBe(202);
  return body;
}

const picture = (input: object = {}) => ({
  type: 'text-to-image',
  input: { prompt: 'a red circle', ...input },
});

const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan[] =>
  spans.filter((span) => span.name === name);
const has =
  (...names: string[]) =>
  (spans: readonly ReceivedSpan[]): boolean =>
    names.every((name) => named(spans, name).length > 0);

test('A speech-to-image request is one tree, from its caller over the API and two workers to its webhook', {
  tags: ['long'],
}, async () => {
  const collector = await otlpReceiver();
  const receiver = await webhookReceiver(200);
  const stack = await startStack(server, {
    LEHR_MODELS: await speechModels(),
    LEHR_EGRESS_ALLOW: '*',
    ...tracedTo(collector),
  });
  await stack.worker({ LEHR_TASKS: 'whisper', OTEL_SERVICE_NAME: 'ears' });
  const brush = await stack.worker({ LEHR_TASKS: 'diffusion', OTEL_SERVICE_NAME: 'brush' });
  const { traceId, spanId, headers } = caller();
  const audio = `data:audio/wav;base64,${await readFile(new URL('en_circle.wav', SAMPLES), 'base64')}`;
  const input = { audio, width: 64, height: 64, steps: 4 };
  const webhook = { url: receiver.url, events: ['job.succeeded'] };
  const { id } = await submit(stack, { type: 'speech-to-image', input, webhook }, headers);
  expect(await stack.over(id)).toMatchObject({ status: 'succeeded' });

  const spans = await collector.trace(
    traceId,
    has('webhook job.succeeded', 'run text-to-image', 'run speech-to-text', 'POST /v1/jobs'),
  );
  const [request] = named(spans, 'POST /v1/jobs');
  expect(request).toMatchObject({ parentSpanId: spanId, service: 'lehr-api' });
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const tree = spans
    .map((span) => `${byId.get(span.parentSpanId ?? '')?.name ?? 'the caller'} > ${span.name}`)
    .sort();
  expect([...new Set(tree)]).toEqual([
    'POST /v1/jobs > admit',
    'POST /v1/jobs > run speech-to-text',
    'POST /v1/jobs > run text-to-image',
    'POST /v1/jobs > store',
    'POST /v1/jobs > wait in line',
    'POST /v1/jobs > webhook job.succeeded',
    'run speech-to-text > decode audio',
    'run speech-to-text > decode window',
    'run speech-to-text > encode window',
    'run speech-to-text > fetch audio',
    'run text-to-image > decode picture',
    'run text-to-image > encode file',
    'run text-to-image > encode prompt',
    'run text-to-image > unet step',
    'run text-to-image > upload',
    'the caller > POST /v1/jobs',
  ]);
  expect(named(spans, 'unet step').map(({ attributes }) => attributes['lehr.step'])).toEqual([1, 2, 3, 4]);
  const [draw] = named(spans, 'run text-to-image');
  expect(draw).toMatchObject({
    service: 'brush',
    attributes: { 'lehr.job.outcome': 'succeeded', 'lehr.workflow.node': 'draw', 'lehr.job.attempt': 1 },
  });
  for (const { startTimeUnixNano: start, endTimeUnixNano: end, name } of spans)
    expect(end, name).toBeGreaterThanOrEqual(start);
  await drawTrace(request, spans);
  const [sent] = named(spans, 'webhook job.succeeded');
  const [received] = await receiver.until(1);
  expect(received.headers.traceparent).toBe(`00-${traceId}-${sent.spanId}-01`);
  expect(await brush.line(({ msg }) => msg === 'job started')).toMatchObject({ trace: traceId });
});

test('A step that two traced pictures shared is in both traces, linked with the attempt of the other', {
  tags: ['long'],
}, async () => {
  const collector = await otlpReceiver();
  const stack = await startStack(server, tracedTo(collector));
  await stack.worker();
  const callers = [caller(), caller()];
  // With so many steps the second one arrives while the first one is drawn.
  const jobs = await Promise.all(
    callers.map(({ headers }) => submit(stack, picture({ steps: 400, guidance: 1 }), headers)),
  );
  for (const { id } of jobs) expect(await stack.over(id)).toMatchObject({ status: 'succeeded' });
  const [first, second] = await Promise.all(
    callers.map(({ traceId }) => collector.trace(traceId, has('run text-to-image'))),
  );
  const linked = named(first, 'unet step').filter(({ links }) => links.length > 0);
  const [{ traceId, spanId }] = named(second, 'run text-to-image');
  expect(linked.length).toBeGreaterThan(0);
  for (const { links, attributes } of linked) {
    expect(links).toEqual([{ traceId, spanId }].map((link) => expect.objectContaining(link)));
    expect(attributes).toMatchObject({ 'lehr.batch.rows': 2, 'lehr.batch.samples': 2 });
  }
});

test('A job that fails ends its span with the code of its error', { tags: ['long'] }, async () => {
  const collector = await otlpReceiver();
  const stack = await startStack(server, { LEHR_MODELS: await speechModels(), ...tracedTo(collector) });
  await stack.worker({ LEHR_TASKS: 'whisper' });
  const { traceId, headers } = caller();
  const request = { type: 'speech-to-text', input: { audio: 'data:audio/wav;base64,AAAA' } };
  const { id } = await submit(stack, request, headers);
  expect(await stack.over(id)).toMatchObject({ status: 'failed' });
  const [run] = named(await collector.trace(traceId, has('run speech-to-text')), 'run speech-to-text');
  expect(run).toMatchObject({
    status: { code: 2, message: 'invalid-audio' },
    attributes: { 'lehr.job.outcome': 'failed' },
  });
});

test('Requests that are not sampled leave no span, and those with a malformed traceparent begin a trace', {
  tags: ['long'],
}, async () => {
  const collector = await otlpReceiver();
  const stack = await startStack(server, tracedTo(collector));
  const worker = await stack.worker();
  const unsampled = caller('00');
  const quiet = await submit(stack, picture({ steps: 2 }), unsampled.headers);
  const traced = await submit(stack, picture({ steps: 2 }), { traceparent: '00-nonsense-01' });
  await Promise.all([quiet, traced].map(({ id }) => stack.over(id)));
  const { trace } = await worker.line(({ msg, job }) => msg === 'job started' && job === traced.id);
  const spans = await collector.trace(String(trace), has('run text-to-image'));
  expect(named(spans, 'POST /v1/jobs')).toMatchObject([{ traceId: trace }]);
  expect(collector.spans.filter(({ traceId }) => traceId === unsampled.traceId)).toEqual([]);
  const started = await worker.line(({ msg, job }) => msg === 'job started' && job === quiet.id);
  expect(started).not.toHaveProperty('trace');
  // The probes by which this test found the API ready.
  expect(collector.spans.filter(({ name }) => name.includes('readyz'))).toEqual([]);
});

test('Spans are sent as protobuf unless set otherwise, with the headers that are set', async () => {
  const collector = await otlpReceiver();
  const stack = await startStack(server, {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=abc',
  });
  const { traceId, headers } = caller();
  await stack.ask('GET', '/v1/jobs', undefined, headers);
  await stack.api.stop();
  const sent = collector.requests.find(({ body }) => body.includes(Buffer.from(traceId, 'hex')));
  expect(sent?.headers).toMatchObject({ 'content-type': 'application/x-protobuf', 'x-collector-key': 'abc' });
});

test('A collector that is down changes nothing for jobs, and the log names the problem', {
  tags: ['long'],
}, async () => {
  const stack = await startStack(server, {
    ...tracedTo({ url: `http://127.0.0.1:${await freePort()}` }),
    OTEL_EXPORTER_OTLP_TIMEOUT: '200',
  });
  await stack.worker();
  const { id } = await submit(stack, picture({ steps: 2 }), caller().headers);
  expect(await stack.over(id)).toMatchObject({ status: 'succeeded' });
  expect(await stack.api.line(({ msg }) => msg === 'traces could not be sent')).toMatchObject({
    level: 'warn',
  });
});

test('A process that stops does not wait for a collector that never answers', {
  tags: ['long'],
}, async () => {
  const url = await served(createServer());
  const stack = await startStack(server, {
    ...tracedTo({ url }),
    // Longer than this test may take.
    OTEL_EXPORTER_OTLP_TIMEOUT: '3600000',
  });
  const worker = await stack.worker();
  const { id } = await submit(stack, picture({ steps: 2 }), caller().headers);
  expect(await stack.over(id)).toMatchObject({ status: 'succeeded' });
  await Promise.all([stack.api, worker].map((process) => process.stop()));
  expect(await Promise.all([stack.api, worker].map((process) => process.exited()))).toEqual([0, 0]);
});
