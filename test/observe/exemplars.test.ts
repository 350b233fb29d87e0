/** From a slow value in Prometheus to its trace. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { otlpReceiver } from '../support/otlp-receiver.ts';
import { freePort } from '../support/ports.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startStack } from '../support/stack.ts';
import { startPrometheus } from './prometheus.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('Prometheus stores with the times of a traced job the id of its trace, from API and worker', {
  tags: ['long'],
}, async () => {
  const [port, workerPort] = [await freePort(), await freePort()];
  const prometheus = await startPrometheus({ 'lehr-api': port, 'lehr-worker': workerPort });
  const stack = await startStack(server, {
    LEHR_PORT: `${port}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: (await otlpReceiver()).url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  });
  await stack.worker({ LEHR_WORKER_PORT: `${workerPort}` });
  const traceId = randomBytes(16).toString('hex');
  const headers = { traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01` };
  const body = { type: 'text-to-image', input: { prompt: 'a red circle' } };
  const { id } = (await (await stack.ask('POST', '/v1/jobs', body, headers)).json()) as { id: string };
  await stack.over(id);
  for (const name of ['http_request_duration', 'request_duration', 'queue_time']) {
    await vi.waitFor(
      async () => expect(await prometheus.traceIdsOf(`lehr_${name}_seconds_bucket`)).toContain(traceId),
      { timeout: 60_000, interval: 500 },
    );
  }
  // The format with exemplars has the same names as the other one, also of counters.
  for (const name of ['lehr_jobs_accepted_total', 'lehr_requests_total', 'process_cpu_seconds_total']) {
    expect(await prometheus.query(name)).not.toEqual([]);
  }
  expect((await prometheus.query('up')).map(({ value }) => value[1])).toEqual(['1', '1']);
});
