/** Finding jobs by labels, times and words over the API, the client and the command. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Lehr } from '../../packages/client/src/index.ts';
import type { JobList } from '../../packages/shared/src/index.ts';
import { lehrFor } from '../client/lehr-command.ts';
import { servedApi } from '../client/served-api.ts';
import { problemOf } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('A caller finds its own jobs by label, time and words, newest first, over HTTP, the client and the command', {
  timeout: 60_000,
}, async () => {
  const api = await servedApi(server.url);
  const made = [];
  for (const [prompt, metadata] of [
    ['a red fox', { customer: '42', 'a]b': 'x=y&z' }],
    ['a blue fox', { customer: '42' }],
    ['a red hen', { customer: '7' }],
  ] as const) {
    made.push(await api.post({ prompt }, { metadata }));
  }
  const [red, blue] = made.map(({ id }) => id);
  const other = await keyHolder(api, 'acme');
  const job = { type: 'text-to-image', input: { prompt: 'a fox' }, metadata: { customer: '42' } };
  expect((await other.ask('POST', '/v1/jobs', job)).status).toBe(202);

  const list = async (query: string) => {
    const { data } = (await (await api.ask('GET', `/v1/jobs?${query}`)).json()) as JobList;
    return data.map(({ id }) => id);
  };
  expect(await list('metadata[customer]=42')).toEqual([blue, red]);
  expect(await list('metadata[customer]=42&text=RED')).toEqual([red]);
  expect(await list('metadata[customer]=42&created_after=2099-01-01T00:00:00Z')).toEqual([]);
  expect(
    await list('metadata[customer]=42&status=queued&limit=1&created_after=2020-01-01T01:00:00%2B01:00'),
  ).toEqual([blue]);
  expect(await list('metadata[__proto__]=42')).toEqual([]);
  expect(await list('created_before=1960-01-01T00:00:00Z')).toEqual([]);
  expect(await list('created_after=0001-01-01T00:00:00Z&text=RED FOX')).toEqual([red]);

  const lehr = new Lehr({ url: api.url, apiKey: api.key });
  const found = [];
  for await (const { id } of lehr.list({ metadata: { customer: '42', 'a]b': 'x=y&z' } })) found.push(id);
  expect(found).toEqual([red]);

  const run = lehrFor(api);
  const printed = await run(['jobs', '--metadata', 'customer=42', '--text', 'blue', '--json']);
  expect((JSON.parse(printed.stdout) as { id: string }[]).map(({ id }) => id)).toEqual([blue]);
  expect(await run(['jobs', '--metadata', 'customer'])).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('expected NAME=VALUE'),
  });
});

test.each([
  ['metadata=42', '?metadata'],
  ['metadata[]=42', '?metadata[]'],
  ['colour=red', '?colour'],
  ['created_after=yesterday', '?created_after'],
  ['text=', '?text'],
  [`metadata[a]=${'x'.repeat(600)}`, '?metadata[a]'],
])('A list with %s is refused, and the answer names %s', async (query, pointer) => {
  const api = await servedApi(server.url);
  const refused = await api.ask('GET', `/v1/jobs?${query}`);
  expect(refused.status).toBe(400);
  expect((await problemOf(refused)).errors?.map((each) => each.pointer)).toEqual([pointer]);
});
