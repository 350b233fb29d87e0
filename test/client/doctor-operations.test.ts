/** `lehr doctor` at an API whose readiness has its own listener. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createApp, createOperationsApp } from '../../apps/api/src/app.ts';
import { listen } from '../../apps/api/src/http/listen.ts';
import { checkApi } from '../../apps/cli/src/doctor/api-checks.ts';
import type { Check } from '../../apps/cli/src/doctor/check.ts';
import { Lehr } from '../../packages/client/src/index.ts';
import { API_KEY, apiWorld } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('lehr doctor says where readiness is served when it is not at LEHR_URL, and checks the rest', async () => {
  const world = await apiWorld(server.url);
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(0));
  listener.serve(createApp(world.parts, true).fetch);
  const url = `http://127.0.0.1:${listener.port}`;
  const client = async (): Promise<Lehr> => new Lehr({ url, apiKey: API_KEY });
  const checks: Check[] = [];
  for await (const check of checkApi(url, client, new AbortController().signal)) checks.push(check);
  expect(checks[0]).toMatchObject({
    name: 'API',
    state: 'ok',
    detail: expect.stringContaining('its /readyz is at LEHR_OPERATIONS_PORT'),
  });
  expect(checks.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['clock of the API', 'key', 'queues']),
  );
});

test('lehr doctor at LEHR_OPERATIONS_PORT says that keys and models are at the other port', async () => {
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(0));
  const world = await apiWorld(server.url);
  listener.serve(createOperationsApp(world.parts).fetch);
  const url = `http://127.0.0.1:${listener.port}`;
  const client = async (): Promise<Lehr> => new Lehr({ url, apiKey: API_KEY });
  const checks: Check[] = [];
  for await (const check of checkApi(url, client, new AbortController().signal)) checks.push(check);
  expect(checks[0]).toMatchObject({ name: 'API', detail: expect.stringContaining('is ready') });
  expect(checks.at(-1)).toMatchObject({
    name: 'key',
    state: 'fail',
    detail: `${url} has no /v1/models`,
    advice: expect.stringContaining('LEHR_OPERATIONS_PORT'),
  });
});
