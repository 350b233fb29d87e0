/** The programs of docs/left-to-you.md run as they are written, with a broker of their own. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { blocksOf, ROOT, readText } from '../repo/readme.ts';
import { bundle } from '../support/bundle.ts';
import { startProgram } from '../support/lehr-process.ts';
import { freePort } from '../support/ports.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { SLOW_MACHINE } from '../support/timeouts.ts';
import { servedApi } from './served-api.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const PAGE = blocksOf(readText('docs/left-to-you.md'));

async function programOf(label: string): Promise<string> {
  const cache = join(ROOT, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'lehr-docs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, `${label}.ts`);
  writeFileSync(file, PAGE.find((block) => block.language === 'ts' && block.label === label)?.text ?? '');
  return bundle(file, import.meta.url);
}

test('Jobs come from a broker once each, also those that a killed process had read, and one that is refused stops none', async () => {
  const api = await servedApi(server.url);
  const broker = testRedis(server.url);
  await broker.xgroup('CREATE', 'pictures', 'lehr', '0', 'MKSTREAM');
  const send = (input: object) =>
    broker.xadd('pictures', '*', 'request', JSON.stringify({ type: 'text-to-image', input }));
  await send({ prompt: 'a red circle' });
  await send({ prompt: 'a circle', steps: 0 });
  await send({ prompt: 'a blue square' });
  // As by a process that was killed after it.
  await broker.xreadgroup('GROUP', 'lehr', 'one', 'COUNT', 2, 'STREAMS', 'pictures', '>');
  startProgram(await programOf('from'), {
    LEHR_URL: api.url,
    LEHR_API_KEY: api.key,
    BROKER_URL: server.url,
  });
  const left = async () => (await broker.xpending('pictures', 'lehr'))[0];
  await vi.waitFor(async () => {
    expect((await api.parts.redis.keys(`${api.parts.keys.record('' as never)}*`)).length).toBe(2);
    expect(await left()).toBe(0);
  }, SLOW_MACHINE);
});

test('An event reaches the broker before it is acknowledged, and one with a wrong signature does not', async () => {
  const broker = testRedis(server.url);
  const port = await freePort();
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  startProgram(await programOf('to'), { PORT: `${port}`, WEBHOOK_SECRET: secret, BROKER_URL: server.url });
  const body = JSON.stringify({ type: 'job.succeeded', data: { id: 'job_1' } });
  const now = new Date();
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': `${Math.floor(now.getTime() / 1000)}`,
    'webhook-signature': new Webhook(secret).sign('msg_1', now, body),
  };
  const post = (text: string) => fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: text });
  await vi.waitFor(async () => expect((await post(`${body} `)).status).toBe(500), SLOW_MACHINE);
  expect((await post(body)).status).toBe(204);
  const results = await broker.xrange('results', '-', '+');
  expect(results.map(([, fields]) => fields)).toEqual([['id', 'msg_1', 'event', body]]);
});

test('The digest of a request finds its job again, and times of their own keep customers at their rate', async () => {
  const api = await servedApi(server.url);
  const env = { LEHR_URL: api.url, LEHR_API_KEY: api.key };
  const outputOf = async (label: string) =>
    (await promisify(execFile)(process.execPath, [await programOf(label)], { env })).stdout.trim();
  expect(await outputOf('cache')).toBe('true');
  const times = (await outputOf('rate')).split('\n').map((at) => Date.parse(at));
  // The time of the first has passed when it comes: it is that of its admission.
  expect(times[1] - times[0]).toBeLessThanOrEqual(10_000);
  expect(times[2] - times[1]).toBe(10_000);
});
