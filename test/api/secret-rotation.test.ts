import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { fingerprint } from '../../apps/api/src/access/fingerprints.ts';
import { keysOf } from '../../packages/shared/src/redis/index.ts';
import { blocksOf, readText } from '../repo/readme.ts';
import { type Env, installation } from '../support/installation.ts';
import { type LehrProcess, startLehr } from '../support/lehr-process.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { asUser } from '../support/redis-server.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { verified, webhookReceiver } from '../support/webhook-receiver.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const ROOT_KEY = 'lehr_test_root_key_of_the_operator';
const BLOCKS = blocksOf(readText('docs/operating.md'));
const [A, B] = ['a'.repeat(32), 'b'.repeat(32)];

interface Started {
  readonly process: LehrProcess;
  ask(path: string, body?: object, key?: string): Promise<Response>;
}

/** The settings of an installation whose secrets are configured. */
const configured = (more: Env = {}): Promise<Env> =>
  installation(server.url, {
    LEHR_API_KEY: ROOT_KEY,
    LEHR_KEY_PEPPER: A,
    LEHR_SECRET_KEY: A,
    LEHR_EGRESS_ALLOW: '*',
    ...more,
  });

async function started(env: Env): Promise<Started> {
  const process = startLehr('api', env);
  const { url } = await process.logged('API is listening');
  return {
    process,
    ask: (path, body, key = ROOT_KEY) =>
      fetch(`${url}${path}`, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      }),
  };
}

/** The output of a process that must not start. */
async function refused(env: Env): Promise<string> {
  const api = startLehr('api', env);
  expect(await api.exited()).toBe(78);
  return api.lines.map(({ msg }) => msg).join('\n');
}

/** A new folder, as a container has that was created again. */
const recreated = async (env: Env): Promise<Env> => ({ ...env, LEHR_HOME: await tempFolder('home') });

const without = (env: Env, ...names: string[]): Env =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));

async function createdKey({ ask }: Started): Promise<{ id: string; key: string }> {
  return (await (await ask('/v1/keys', { tenant: 'acme' })).json()) as { id: string; key: string };
}

const statusOf = async ({ ask }: Started, key: string): Promise<number> =>
  (await ask('/v1/jobs', undefined, key)).status;

describe('start with another secret', () => {
  test('A process without the folder of its secrets refuses to start, and names the secret and no value', {
    tags: ['long'],
  }, async () => {
    const env = without(await configured(), 'LEHR_KEY_PEPPER', 'LEHR_SECRET_KEY');
    const first = await started(env);
    const { key } = await createdKey(first);
    await first.process.stop();
    const other = await recreated(env);
    const text = await refused(other);
    expect(text).toContain(
      `LEHR_KEY_PEPPER, read from ${join(other.LEHR_HOME, 'key-pepper')}, is not the one`,
    );
    expect(text).toContain(`API keys were made with another value: ${key.split('_')[2]}.`);
    expect(await statusOf(await started(env), key)).toBe(200);
  });

  test('Of two processes with different peppers, the second does not start, even when there is no key yet', async () => {
    const env = await configured();
    await started(env);
    const text = await refused({ ...env, LEHR_KEY_PEPPER: B });
    expect(text).toContain('LEHR_KEY_PEPPER is not the one that the data in Redis was made with.');
    expect(text).not.toContain(A);
    expect(text).not.toContain(B);
  });

  test('Of two processes with different sealing keys, the second does not start', async () => {
    const env = await configured();
    await started(env);
    expect(await refused({ ...env, LEHR_SECRET_KEY: B })).toContain('LEHR_SECRET_KEY is not the one');
  });

  test('A process refuses to start when it cannot decrypt secrets of a version that stored no fingerprints', {
    tags: ['long'],
  }, async () => {
    const env = await configured();
    const first = await started(env);
    await first.ask('/v1/webhooks/secret', {});
    await first.process.stop();
    await testRedis(server.url).del(keysOf(env.LEHR_NAMESPACE).secretKeys);
    const text = await refused({ ...env, LEHR_SECRET_KEY: B });
    expect(text).toContain('Webhook secrets of tenants were made with another value: default.');
    await started(env);
  });
});

test('A process starts again while Redis is full', { tags: ['long'] }, async () => {
  const own = await startRedis();
  onTestFinished(() => own.stop());
  const env = await configured({ LEHR_REDIS_URL: own.url });
  await (await started(env)).process.stop();
  await testRedis(own.url).config('SET', 'maxmemory', '1');
  expect((await (await started(env)).ask('/v1/jobs')).status).toBe(200);
});

describe('rotation', () => {
  test('The pepper is rotated without a refused request, and the old one can go when every key was used', {
    tags: ['long'],
  }, async () => {
    const env = await configured();
    const both = { ...env, LEHR_KEY_PEPPER: `${A},${B}` };
    const onlyOld = await started(env);
    const { key, id } = await createdKey(onlyOld);
    // Old and new processes run side by side in both steps.
    const first = await started(both);
    for (const each of [onlyOld, first]) expect(await statusOf(each, key)).toBe(200);
    const second = await started({ ...env, LEHR_KEY_PEPPER: `${B},${A}` });
    const idle = await createdKey(first);
    const redis = testRedis(server.url);
    const pepperOf = (of: string) => redis.hget(keysOf(env.LEHR_NAMESPACE).apiKey(of), 'pepper');
    const [oldPepper, newPepper] = [A, B].map((pepper) => fingerprint(pepper, 'key-pepper'));
    expect(await pepperOf(id)).toBe(oldPepper);
    await onlyOld.process.stop();
    for (const each of [first, second, first, second]) expect(await statusOf(each, key)).toBe(200);
    await first.process.stop();
    // A process caches a key for a moment.
    const usedOn = (api: Started, text: string, of: string) =>
      expect
        .poll(async () => {
          expect(await statusOf(api, text)).toBe(200);
          return pepperOf(of);
        })
        .toBe(newPepper);
    await usedOn(second, key, id);

    const onlyNew = { ...env, LEHR_KEY_PEPPER: B };
    expect(await refused(onlyNew)).toContain(`were made with another value: ${idle.id}.`);
    await usedOn(second, idle.key, idle.id);
    const last = await started(onlyNew);
    for (const each of [key, idle.key]) expect(await statusOf(last, each)).toBe(200);
    expect(await refused(env)).toContain('LEHR_KEY_PEPPER is not the one');
  });

  test('The sealing key is rotated without a webhook that fails to be signed', {
    tags: ['long'],
  }, async () => {
    const env = await configured();
    const receiver = await webhookReceiver();
    const onlyOld = await started(env);
    const { key } = (await (await onlyOld.ask('/v1/webhooks/secret', {})).json()) as { key: string };
    let sent = 0;
    const expectSigned = async (api: Started): Promise<void> => {
      const answer = await api.ask('/v1/webhooks/test', { url: receiver.url });
      expect(answer.status).toBe(200);
      sent += 1;
      expect(await verified((await receiver.until(sent))[sent - 1], key)).toBe(true);
    };
    const first = await started({ ...env, LEHR_SECRET_KEY: `${A},${B}` });
    for (const each of [onlyOld, first]) await expectSigned(each);
    const second = await started({ ...env, LEHR_SECRET_KEY: `${B},${A}` });
    await second.process.logged('encrypted webhook secrets again with LEHR_SECRET_KEY');
    await onlyOld.process.stop();
    for (const each of [first, second]) await expectSigned(each);
    await first.process.stop();
    // The first process has encrypted the secret with the old key again; its next use turns that back.
    await expectSigned(second);
    await expectSigned(await started({ ...env, LEHR_SECRET_KEY: B }));
    expect(await refused(env)).toContain('LEHR_SECRET_KEY is not the one');
  });
});

test('The commands of docs/operating.md for a lost secret let the API start with a new one', {
  tags: ['long'],
}, async () => {
  const own = await startRedis();
  onTestFinished(() => own.stop());
  const env = await configured({ LEHR_REDIS_URL: own.url, LEHR_NAMESPACE: 'lehr' });
  const first = await started(env);
  const { key } = await createdKey(first);
  await first.ask('/v1/webhooks/secret', {});
  await first.process.stop();
  const next = { ...env, LEHR_KEY_PEPPER: B, LEHR_SECRET_KEY: B };
  for (const [label, name] of [
    ['lost-pepper', 'LEHR_KEY_PEPPER'],
    ['lost-secret-key', 'LEHR_SECRET_KEY'],
  ]) {
    expect(await refused(next)).toContain(`${name} is not the one`);
    const block = BLOCKS.find((each) => each.language === 'sh' && each.label === label);
    await promisify(execFile)('sh', ['-eu', '-c', block?.text ?? 'false'], {
      env: { PATH: process.env.PATH, LEHR_REDIS_URL: own.url },
    });
  }
  const second = await started(next);
  expect(await statusOf(second, key)).toBe(401);
  expect(await statusOf(second, (await createdKey(second)).key)).toBe(200);
});

test('The commands of docs/operating.md change the password of a user of Redis while its processes run', {
  tags: ['long'],
}, async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const apiUrl = asUser(redis.url, 'api');
  const urlWith = (password: string): string => {
    const url = new URL(apiUrl);
    url.password = encodeURIComponent(password);
    return url.href;
  };
  const password = (url: string): string => decodeURIComponent(new URL(url).password);
  const NEW_PASSWORD = 'another-password-of-the-api';
  const OLD_PASSWORD = password(apiUrl);
  const run = async (label: string): Promise<string> => {
    const block = BLOCKS.find((each) => each.language === 'sh' && each.label === label);
    const env = {
      PATH: process.env.PATH,
      LEHR_REDIS_URL: redis.url,
      NEW_PASSWORD,
      OLD_PASSWORD,
    };
    return (await promisify(execFile)('sh', ['-eu', '-c', block?.text ?? 'false'], { env })).stdout;
  };
  const env = await configured({ LEHR_REDIS_URL: apiUrl, LEHR_NAMESPACE: 'lehr' });
  const first = await started(env);
  expect(await run('add-redis-password')).toBe('OK\n');
  const second = await started({ ...env, LEHR_REDIS_URL: urlWith(NEW_PASSWORD) });
  const { key } = await createdKey(first);
  expect(await statusOf(second, key)).toBe(200);
  expect(await run('remove-redis-password')).toBe('OK\n');
  for (const each of [first, second]) expect(await statusOf(each, key)).toBe(200);
  const late = startLehr('api', env);
  expect(await late.exited()).toBe(69);
});
