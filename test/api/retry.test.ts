/** New jobs from the input of jobs that have ended. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Job } from '../../packages/shared/src/index.ts';
import { lehrFor, runLehr } from '../client/lehr-command.ts';
import { servedApi } from '../client/served-api.ts';
import { apiWorld, jobOf, problemOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('A retry of a failed job is a new job with the same input, seed, metadata and webhook, and refers to the failed one', async () => {
  const world = await apiWorld(server.url);
  const webhook = { url: 'https://hooks.example/lehr', events: ['job.failed'] };
  const failed = await world.post({ n: 2 }, { priority: 'bulk', metadata: { order: '81' }, webhook });
  await world.worker.fail(await world.worker.take());

  const response = await world.ask('POST', `/v1/jobs/${failed.id}/retry`);

  expect(response.status).toBe(202);
  const retried = await jobOf(response);
  expect(response.headers.get('location')).toBe(`/v1/jobs/${retried.id}`);
  const { model, input, metadata, priority } = failed;
  expect(retried).toMatchObject({ model, input, metadata, priority, webhook });
  expect(retried).toMatchObject({ status: 'queued', attempt: 0, retried_from: failed.id });
  expect(retried.id).not.toBe(failed.id);
  await world.worker.succeed(await world.worker.take());
  const read = async (id: string): Promise<Job> => jobOf(await world.ask('GET', `/v1/jobs/${id}`));
  expect(await read(retried.id)).toMatchObject({ status: 'succeeded', retried_from: failed.id });
  expect(await read(failed.id)).toMatchObject({ status: 'failed', error: { code: 'numeric-error' } });
});

test('A retry with an Idempotency-Key that is too long is a 400, as the OpenAPI document says', async () => {
  const world = await apiWorld(server.url);
  const { id } = await world.post();
  const headers = { 'idempotency-key': 'k'.repeat(300) };
  const answer = await world.ask('POST', `/v1/jobs/${id}/retry`, undefined, { headers });
  expect(answer.status).toBe(400);
  const document = (await (await world.ask('GET', '/openapi.json')).json()) as {
    paths: Record<string, { post: { responses: object } }>;
  };
  expect(document.paths['/v1/jobs/{id}/retry'].post.responses).toHaveProperty('400');
});

test('A retry with the Idempotency-Key of an earlier one returns its job; without a key each retry is a new job', async () => {
  const world = await apiWorld(server.url);
  const { id } = await world.post();
  await world.worker.fail(await world.worker.take());
  const retry = async (headers = {}): Promise<string> =>
    (await jobOf(await world.ask('POST', `/v1/jobs/${id}/retry`, undefined, { headers }))).id;
  const key = { 'idempotency-key': 'once' };
  const first = await retry(key);
  expect(await retry(key)).toBe(first);
  expect(new Set([first, await retry(), await retry()]).size).toBe(3);
});

test('A job that has not ended, a workflow and a node cannot be retried', async () => {
  const world = await apiWorld(server.url);
  const nodes = [{ id: 'only', type: 'text-to-image', input: { prompt: 'a circle' } }];
  const workflow = await jobOf(await world.ask('POST', '/v1/jobs', { type: 'workflow', nodes }));
  const node = workflow.nodes?.[0]?.job as string;
  const retry = async (id: string) => {
    const response = await world.ask('POST', `/v1/jobs/${id}/retry`);
    return [response.status, (await problemOf(response)).type, response.headers.get('location')];
  };
  const conflict = [409, 'urn:lehr:problem:conflict', null];
  expect(await retry(node)).toEqual(conflict);
  await world.worker.fail(await world.worker.take());
  for (const id of [workflow.id, node]) expect(await retry(id)).toEqual(conflict);
  expect(await retry('job_01jd3v9s6w0000000000000000')).toEqual([404, 'urn:lehr:problem:not-found', null]);
});

test('lehr jobs retry --json prints the jobs that it made before an error', async () => {
  const api = await servedApi(server.url);
  const { id } = await api.post();
  await api.worker.fail(await api.worker.take());
  const unknown = 'job_01jd3v9s6w0000000000000000';

  const { code, stdout, stderr } = await lehrFor(api)(['jobs', 'retry', id, unknown, '--json']);

  expect(code).toBe(65);
  expect(JSON.parse(stdout)).toMatchObject([{ retried_from: id }]);
  expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'not-found' } });
});

test.each([
  [['jobs', 'retry'], 'expected options that choose jobs'],
  [['jobs', 'retry', 'job_1', '--status', 'failed'], 'expected either JOB... or options'],
  [
    ['jobs', 'retry', '--status', 'failed', '--after', 'soon'],
    '--after is "soon", expected a date or a time such as 2h',
  ],
])('lehr %j is refused with the reason', async (args, reason) => {
  const { code, stderr } = await runLehr(args);
  expect(code).toBe(64);
  expect(stderr).toContain(reason);
});
