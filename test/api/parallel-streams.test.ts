/** The limit of open streams holds for requests that arrive together, as they do over real connections. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { listen } from '../../apps/api/src/http/listen.ts';
import { type ApiWorld, apiWorld, jobOf } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const MAX = 5;
const ASKED = 50;
const drawing = { type: 'text-to-image', input: { prompt: 'a circle' } };

async function served(world: ApiWorld): Promise<string> {
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(0));
  listener.serve(world.app.fetch);
  return `http://127.0.0.1:${listener.port}`;
}

const counted = (answers: readonly Response[]): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

test('Of fifty streams that are opened at once, those above max_streams are a 429 each', async () => {
  const world = await apiWorld(server.url);
  const url = await served(world);
  const { ask, key } = await keyHolder(world, 'acme', { limits: { max_streams: MAX } });
  const { id } = await jobOf(await ask('POST', '/v1/jobs', drawing));
  const headers = { authorization: `Bearer ${key.key}` };
  const open = () => fetch(`${url}/v1/jobs/${id}/events`, { headers });
  const answers = await Promise.all(Array.from({ length: ASKED }, open));
  expect(counted(answers)).toEqual({ 200: MAX, 429: ASKED - MAX });
  await Promise.all(answers.map(({ body }) => body?.cancel()));
  // The streams that were hung up count no longer.
  await expect
    .poll(async () => {
      const next = await open();
      await next.body?.cancel();
      return next.status;
    })
    .toBe(200);
});

test('Of streamed image calls that arrive at once, those above max_streams are a 429 each and make no job', async () => {
  const world = await apiWorld(server.url);
  const url = await served(world);
  const { key } = await keyHolder(world, 'acme', { limits: { max_streams: MAX } });
  const call = (i: number) =>
    fetch(`${url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ prompt: `circle ${i}`, stream: true }),
    });
  const answers = await Promise.all(Array.from({ length: ASKED }, (_, i) => call(i)));
  expect(counted(answers)).toEqual({ 200: MAX, 429: ASKED - MAX });
  expect(await world.parts.redis.zcard(world.parts.keys.live)).toBe(MAX);
  await Promise.all(answers.map(({ body }) => body?.cancel()));
});

test('A streamed call whose job is refused does not count', async () => {
  const world = await apiWorld(server.url);
  const { ask } = await keyHolder(world, 'acme', { limits: { max_streams: 1, max_jobs: 1 } });
  await ask('POST', '/v1/jobs', drawing);
  const refused = await ask('POST', '/v1/images/generations', { prompt: 'a circle', stream: true });
  expect(refused.status).toBe(429);
  const { data } = (await (await ask('GET', '/v1/jobs')).json()) as { data: { id: string }[] };
  const events = await ask('GET', `/v1/jobs/${data[0].id}/events`);
  expect(events.status).toBe(200);
  await events.body?.cancel();
});
