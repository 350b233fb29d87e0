/** The commands of docs/pauses.md, as they are written, against a served API. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KeyRequestSchema } from '../../packages/shared/src/index.ts';
import { blocksOf, readText } from '../repo/readme.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { lehrShell } from './lehr-command.ts';
import { servedApi } from './served-api.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('The commands of docs/pauses.md pause and resume a model, everything and a tenant, and say so', {
  timeout: 60_000,
}, async () => {
  const api = await servedApi(server.url);
  await api.post();
  await api.parts.keyStore.create(KeyRequestSchema.parse({ tenant: 'acme' }), api.parts.clock.now(), {
    keyId: 'root',
    address: null,
  });
  const { run } = await lehrShell({ LEHR_URL: api.url, LEHR_API_KEY: api.key });
  const printed: string[] = [];
  for (const { language, text } of blocksOf(readText('docs/pauses.md'))) {
    if (language === 'sh') printed.push(await run(text));
  }
  expect(printed).toHaveLength(3);
  expect(printed[0]).toMatch(/^paused: tiny since \S+ by root; new jobs wait; new driver\n/);
  expect(printed[0]).toMatch(/diffusion\.tiny@1\.\S+ +1 +0 .* paused/);
  expect(printed[0]).toMatch(/resumed: tiny\n$/);
  expect(printed[1]).toMatch(
    /^paused: all models since \S+ by root; new jobs are refused; the store moves\nresumed: all models\n$/,
  );
  expect(printed[2]).toMatch(
    /^paused: tenant:acme since \S+ by root; new jobs wait; asks for a million pictures\nresumed: tenant:acme\n$/,
  );
  expect(await api.parts.pauses.list()).toEqual([]);
});

test('lehr jobs says that an operator has paused the model that a job waits for', async () => {
  const api = await servedApi(server.url);
  await api.ask('PUT', '/v1/pauses/tiny', {});
  const { id } = await api.post();
  const { run } = await lehrShell({ LEHR_URL: api.url, LEHR_API_KEY: api.key });
  expect(await run(`lehr jobs ${id}`)).toContain(`${id} queued: an operator has paused its model\n`);
});
