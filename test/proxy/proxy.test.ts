/** docs/proxy.md is correct: its files for nginx and Caddy run in front of a real API. */
import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ENV, envSchema, type Job, readConfig } from '../../packages/shared/src/index.ts';
import { blocksOf, readText } from '../repo/readme.ts';
import { shared } from '../support/cleanup.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { within } from '../support/timeouts.ts';
import { type RunningProxy, send, startProxy } from './proxies.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** The proxy, and no other address of this machine. */
const TRUSTED = { LEHR_TRUSTED_PROXIES: '127.0.0.1' };
const portOf = (stack: Stack): number => Number(new URL(stack.url).port);
const asOperator = ({ key }: Stack) => ({ authorization: `Bearer ${key}` });

/** The first bytes of an event stream; `end` hangs up. */
function firstEvents(proxy: RunningProxy, path: string, headers: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      servername: 'localhost',
      port: proxy.port,
      ca: proxy.ca,
      agent: false,
    };
    const sent = request({ ...options, path, headers: { host: 'localhost', ...headers } }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk;
        if (!text.includes('event: ')) return;
        resolve(text);
        sent.destroy();
      });
      response.on('end', () => reject(new Error(`the stream ended with ${text}`)));
    });
    sent.on('error', reject);
    sent.end();
  });
}

function upload(stack: Stack, proxy: RunningProxy, bytes: number): ReturnType<typeof send> {
  const head = '--b\r\ncontent-disposition: form-data; name="content"; filename="a.wav"\r\n\r\n';
  const body = Buffer.concat([Buffer.from(head), Buffer.alloc(bytes), Buffer.from('\r\n--b--\r\n')]);
  const headers = { ...asOperator(stack), 'content-type': 'multipart/form-data; boundary=b' };
  return send(proxy, '/v1/files', { method: 'POST', headers, body });
}

/** Addresses in the audit log, the newest first. */
async function addresses(stack: Stack): Promise<(string | null)[]> {
  const log = (await (await stack.ask('GET', '/v1/audit')).json()) as { data: { address: string | null }[] };
  return log.data.map(({ address }) => address);
}

const stack = shared(() => startStack(server, TRUSTED));
/** Its API takes larger files than a proxy does. */
const large = shared(() => startStack(server, { ...TRUSTED, LEHR_MAX_UPLOAD_MB: '100' }));

describe.each(['nginx', 'caddy'] as const)('%s', (name) => {
  const proxy = shared(() => startProxy(name, portOf(stack)));

  test('An event of a job passes at once while its stream is open', async () => {
    // No worker runs: the stream has one event and then waits.
    const { id } = await stack.post();
    const events = firstEvents(proxy, `/v1/jobs/${id}/events`, asOperator(stack));
    expect(await within(30_000, 'the first event', events)).toContain('event: job.queued');
    const job = (await (await stack.ask('GET', `/v1/jobs/${id}`)).json()) as Job;
    expect(job.status).toBe('queued');
  });

  test('A file below the limit of the API is stored, and one above it gets the error of the API', async () => {
    expect((await upload(stack, proxy, 2_000_000)).status).toBe(201);
    const refused = await upload(stack, proxy, 26_000_000);
    expect([refused.status, refused.text]).toEqual([
      413,
      expect.stringContaining('urn:lehr:problem:too-large'),
    ]);
  });

  test('The proxy refuses a body above its own limit', async () => {
    const proxy = await startProxy(name, portOf(large));
    const huge = await upload(large, proxy, 40_000_000).catch((error: NodeJS.ErrnoException) => error);
    // The proxy may close the connection before it has read the body.
    if (huge instanceof Error) expect(['EPIPE', 'ECONNRESET']).toContain(huge.code);
    else {
      // Caddy 2.6 answers 502.
      expect(name === 'caddy' ? [413, 502] : [413]).toContain(huge.status);
      expect(huge.text).not.toContain('urn:lehr');
    }
  });

  test('The API sees the address of the caller, and not what the caller claims', async () => {
    const before = await addresses(stack);
    const claim = {
      ...asOperator(stack),
      'content-type': 'application/json',
      'x-forwarded-for': '203.0.113.9',
    };
    const body = JSON.stringify({ tenant: 'acme' });
    const made = await send(proxy, '/v1/keys', { method: 'POST', headers: claim, body, from: '127.0.0.2' });
    expect(made.status).toBe(201);
    expect(await addresses(stack)).toEqual(['127.0.0.2', ...before]);
  });

  test('Metrics, readiness and the board are not reached through the proxy', async () => {
    const headers = asOperator(stack);
    for (const path of ['/metrics', '/readyz', '/admin/queues', '/admin/queues/api/queues']) {
      expect((await stack.ask('GET', path)).status, path).toBe(200);
      const written = [
        path,
        `/${path}`,
        `/v1/..${path}`,
        `${path}?x=1`,
        path.replace('e', '%65'),
        `/.${path}`,
      ];
      for (const each of written) expect((await send(proxy, each, { headers })).status, each).toBe(404);
    }
    expect((await send(proxy, '/healthz')).status).toBe(200);
    expect((await send(proxy, '/v1/models', { headers })).status).toBe(200);
  });
});

test('Without LEHR_TRUSTED_PROXIES, or from another address, X-Forwarded-For has no effect', {
  tags: ['long'],
}, async () => {
  const body = { tenant: 'acme' };
  const claim = { 'x-forwarded-for': '203.0.113.9' };
  for (const trusted of ['', '10.0.0.0/8']) {
    const stack = await startStack(server, { LEHR_TRUSTED_PROXIES: trusted });
    expect((await stack.ask('POST', '/v1/keys', body, claim)).status).toBe(201);
    expect(await addresses(stack)).toEqual(['127.0.0.1']);
  }
  const behindTwo = await startStack(server, { LEHR_TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8' });
  const chain = { 'x-forwarded-for': '192.0.2.1, 203.0.113.9, 10.0.0.7' };
  await behindTwo.ask('POST', '/v1/keys', body, chain);
  await behindTwo.ask('POST', '/v1/keys', body, { 'x-forwarded-for': 'x'.repeat(200) });
  expect(await addresses(behindTwo)).toEqual(['127.0.0.1', '203.0.113.9']);
});

test('LEHR_TRUSTED_PROXIES takes addresses and ranges only', () => {
  const read = (text: string) =>
    readConfig(envSchema('LEHR_TRUSTED_PROXIES'), { LEHR_TRUSTED_PROXIES: text }).LEHR_TRUSTED_PROXIES;
  expect(read('10.1.0.0/16, ::1')).toEqual(['10.1.0.0/16', '::1']);
  for (const text of ['nginx', '10.0.0.0/99', 'loopback'])
    expect(() => read(text), text).toThrow('must be addresses or ranges like 10.1.0.0/16');
});

test('docs/proxy.md links the files that are tested, and names only variables that exist', () => {
  const text = readText('docs/proxy.md');
  for (const file of ['nginx.conf', 'Caddyfile']) expect(text).toContain(`(../infra/proxy/${file})`);
  for (const [variable] of text.matchAll(/\bLEHR_[A-Z_]+\b/g)) expect(Object.keys(ENV)).toContain(variable);
  expect(blocksOf(text)).toEqual([]);
});
