/** A job as `application/json` is parsed in one step; with another JSON type, part by part by the library. Both answer the same. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiWorld, jobOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const CIRCLE = JSON.stringify({ type: 'text-to-image', input: { prompt: 'a red circle' } });

test.each([
  ['a job', '', CIRCLE, {}],
  ['a wait that is over at once', '?wait=0', CIRCLE, {}],
  ['a preference', '', CIRCLE, { prefer: 'respond-async, wait=0' }],
  ['an unknown parameter', '?wiat=3', CIRCLE, {}],
  ['a repeated parameter', '?wait=1&wait=2', CIRCLE, {}],
  ['a parameter that is no number', '?wait=soon', CIRCLE, {}],
  ['an empty header', '', CIRCLE, { 'idempotency-key': '' }],
  ['a parameter and a body that are both wrong', '?wait=soon', '{}', {}],
  ['no body', '', '', {}],
  ['half a body', '', CIRCLE.slice(0, -1), {}],
  ['a list', '', '[]', {}],
  ['an unknown type', '', '{"type":"cake","input":{}}', {}],
  ['unknown and missing fields', '', '{"type":"text-to-image","input":{"promt":"x"},"priorty":1}', {}],
  ['a prototype', '', `{"__proto__":{"type":"text-to-image"},${CIRCLE.slice(1)}`, {}],
])('A request with %s has the same answer in both ways', async (_name, query, body, headers) => {
  const world = await apiWorld(server.url);
  const ask = async (type: string) => {
    const response = await world.ask('POST', `/v1/jobs${query}`, body, {
      headers: { 'content-type': type, ...headers },
    });
    const { status, ok } = response;
    if (ok) return { status, model: (await jobOf(response)).model };
    const { instance: _, ...problem } = (await response.json()) as Record<string, unknown>;
    return { status, problem };
  };
  expect(await ask('application/json')).toEqual(await ask('application/vnd.lehr+json'));
});
