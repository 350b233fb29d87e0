import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Env, installation } from '../support/installation.ts';
import { type LehrProcess, startLehr } from '../support/lehr-process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { verified, webhookReceiver } from '../support/webhook-receiver.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

interface Started {
  readonly process: LehrProcess;
  readonly url: string;
  ask(method: string, path: string, body?: object): Promise<Response>;
}

async function started(env: Env, roles: string): Promise<Started> {
  const process = startLehr('api', { ...env, LEHR_ROLES: roles });
  const { url } = await process.logged('API is listening');
  const key = (await readFile(join(env.LEHR_HOME, 'api-key'), 'utf8')).trim();
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return {
    process,
    url: String(url),
    ask: (method, path, body) =>
      fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) }),
  };
}

/** A cancelled job whose webhook goes to this URL. */
async function canceledJob(api: Started, url: string): Promise<string> {
  const body = { type: 'text-to-image', input: { prompt: 'x' }, webhook: { url } };
  const { id } = (await (await api.ask('POST', '/v1/jobs', body)).json()) as { id: string };
  await api.ask('POST', `/v1/jobs/${id}/cancel`);
  return id;
}

test('Webhooks of jobs that one process accepts are delivered by others, also after one was killed', {
  tags: ['long'],
}, async () => {
  const env = await installation(server.url, { LEHR_EGRESS_ALLOW: '*' });
  const receiver = await webhookReceiver();
  const http = await started(env, 'http');
  const { key } = (await (await http.ask('POST', '/v1/webhooks/secret')).json()) as { key: string };
  const first = await canceledJob(http, receiver.url);
  const log = async (id: string) =>
    (await (await http.ask('GET', `/v1/jobs/${id}/webhook`)).json()) as { deliveries: object[] };
  expect((await log(first)).deliveries).toEqual([]);

  const webhooks = await started(env, 'webhooks');
  const [received] = await receiver.until(1);
  expect(await verified(received, key)).toBe(true);
  expect(JSON.parse(received.body)).toMatchObject({ type: 'job.canceled', data: { id: first } });

  for (const [method, path] of [
    ['GET', '/v1/jobs'],
    ['POST', '/v1/jobs'],
    ['GET', '/docs'],
    ['GET', '/admin/queues'],
  ]) {
    expect((await webhooks.ask(method, path)).status, path).toBe(404);
  }
  expect((await webhooks.ask('GET', '/healthz')).status).toBe(200);
  expect((await webhooks.ask('GET', '/readyz')).status).toBe(200);
  await expect
    .poll(async () => (await webhooks.ask('GET', '/metrics')).text())
    .toContain('lehr_webhook_deliveries_total{outcome="delivered"} 1\n');

  webhooks.process.signal('SIGKILL');
  await webhooks.process.exited();
  const second = await canceledJob(http, receiver.url);
  const another = await started(env, 'webhooks');
  const [, later] = await receiver.until(2);
  expect(JSON.parse(later.body).data.id).toBe(second);
  await another.process.stop();
  expect(await another.process.exited()).toBe(0);
});

test('One process with both roles delivers webhooks, and its log has neither secrets nor URLs', async () => {
  const env = await installation(server.url, { LEHR_EGRESS_ALLOW: '*' });
  const receiver = await webhookReceiver(410, '/hook?token=hunter2');
  const api = await started({ ...env, LEHR_LOG_LEVEL: 'debug' }, 'http,webhooks');
  const { key } = (await (await api.ask('POST', '/v1/webhooks/secret')).json()) as { key: string };
  await canceledJob(api, receiver.url);
  await api.process.logged('webhook dropped: its receiver is gone');
  const said = JSON.stringify(api.process.lines);
  expect(said).not.toContain(key.slice('whsec_'.length));
  expect(said).not.toContain('hunter2');
});

test('A faulty allow-list and an unknown role are reported at the start', async () => {
  const env = await installation(server.url, { LEHR_EGRESS_ALLOW: '10.0.0.0/99' });
  const api = startLehr('api', env);
  expect(await api.exited()).toBe(78);
  expect(api.lines.map(({ msg }) => msg).join('\n')).toContain('LEHR_EGRESS_ALLOW is "10.0.0.0/99"');
  const other = startLehr('api', { ...env, LEHR_ROLES: 'http,mail' });
  expect(await other.exited()).toBe(78);
  expect(other.lines.map(({ msg }) => msg).join('\n')).toContain('LEHR_ROLES is "http,mail"');
});
