/** How a request that is held for its job is answered when the job has no result to give. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_TENANT } from '../../packages/shared/src/index.ts';
import type { Move } from '../../packages/shared/src/records/index.ts';
import { type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const draw = (world: ApiWorld): Promise<Response> =>
  world.ask('POST', '/t2i', { prompt: 'a red circle', width: 64, height: 64, inference_steps: 4 });

/** A request that is held, and a way to end its job. */
async function heldWorld() {
  const world = await apiWorld(server.url);
  const answer = draw(world);
  await expect.poll(() => world.parts.waits.size).toBe(1);
  const { redis, keys, records } = world.parts;
  const [id] = (await redis.zrange(keys.jobsOf(DEFAULT_TENANT), '0', '-1')) as Move['id'][];
  return { world, answer, end: (move: Move['move']) => records.apply([{ move, id }]) };
}

test('A request whose job takes longer than the hold is answered 504, and its job goes on', async () => {
  const world = await apiWorld(server.url, { holdMs: 20 });
  const response = await draw(world);
  expect(response.status).toBe(504);
  expect(await problemOf(response)).toMatchObject({ type: 'urn:lehr:problem:hold-expired' });
  const { data } = (await (await world.ask('GET', '/v1/jobs')).json()) as { data: unknown[] };
  expect(data).toMatchObject([{ status: 'queued' }]);
});

test('A request whose job passes its deadline is answered 504', async () => {
  const { answer, end } = await heldWorld();
  await end('expire');
  const response = await answer;
  expect(response.status).toBe(504);
  expect(await problemOf(response)).toMatchObject({ type: 'urn:lehr:problem:deadline-exceeded' });
});

test('A request whose job is cancelled is answered 409', async () => {
  const { answer, end } = await heldWorld();
  await end('cancel');
  const response = await answer;
  expect(response.status).toBe(409);
  expect(await problemOf(response)).toMatchObject({ type: 'urn:lehr:problem:conflict' });
});

test('A request whose job fails is answered with the code of the job', async () => {
  const { world, answer } = await heldWorld();
  await world.worker.fail(await world.worker.take());
  const response = await answer;
  expect(response.status).toBe(500);
  expect(await problemOf(response)).toMatchObject({ type: 'urn:lehr:problem:numeric-error' });
});

test('A request that is held when the server stops is answered 503', async () => {
  const { world, answer } = await heldWorld();
  world.parts.waits.stop();
  const response = await answer;
  expect(response.status).toBe(503);
  expect(await problemOf(response)).toMatchObject({ type: 'urn:lehr:problem:unavailable' });
});
