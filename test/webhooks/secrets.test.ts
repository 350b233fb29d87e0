import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { SYSTEM_ACTOR } from '../../apps/api/src/access/audit/audit-log.ts';
import { Sealer } from '../../apps/api/src/webhooks/secrets/sealer.ts';
import { WebhookSecrets } from '../../apps/api/src/webhooks/secrets/webhook-secrets.ts';
import type { TenantId } from '../../packages/shared/src/index.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { verified, webhookReceiver } from '../support/webhook-receiver.ts';
import { auditTarget, SECRET_KEY, type WebhookWorld, webhookWorld } from '../support/webhook-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const ACME = 'acme' as TenantId;

const secretsOf = ({ redis, keys }: WebhookWorld, key = SECRET_KEY): WebhookSecrets =>
  new WebhookSecrets(redis, keys, new Sealer([key], 'webhook-secrets'), auditTarget(keys));

test('Each owner has one secret of 32 random bytes, also when twenty calls create it at once', async () => {
  const world = await webhookWorld(server.url);
  const asked = await Promise.all(Array.from({ length: 20 }, () => secretsOf(world).signing(ACME)));
  const [[secret]] = asked;
  expect(asked).toEqual(Array(20).fill([secret]));
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(await secretsOf(world).signing('other' as TenantId)).not.toEqual([secret]);
});

test('A secret is shown once, also after a rotation', async () => {
  const world = await webhookWorld(server.url);
  const secrets = secretsOf(world);
  const { key, createdAt } = await secrets.show(ACME, SYSTEM_ACTOR);
  expect(await secrets.signing(ACME)).toEqual([key]);
  expect(Math.abs(createdAt - Date.now())).toBeLessThan(5000);
  await expect(secrets.show(ACME, SYSTEM_ACTOR)).rejects.toMatchObject({ code: 'conflict' });
  const rotated = await secrets.rotate(ACME, SYSTEM_ACTOR);
  expect(rotated.key).not.toBe(key);
  await expect(secrets.show(ACME, SYSTEM_ACTOR)).rejects.toMatchObject({ code: 'conflict' });
});

test('After a rotation both secrets sign, the new one first, until the old one expires', async () => {
  const world = await webhookWorld(server.url);
  const receiver = await webhookReceiver();
  await world.deliverer();
  const deliver = async () => {
    const count = receiver.received.length + 1;
    await world.run(await world.hooked(receiver.url, { events: ['job.failed'] }, ACME));
    return (await receiver.until(count))[count - 1];
  };
  const old = (await secretsOf(world).show(ACME, SYSTEM_ACTOR)).key;
  const fresh = (await secretsOf(world).rotate(ACME, SYSTEM_ACTOR)).key;
  expect(await secretsOf(world).signing(ACME)).toEqual([fresh, old]);
  const both = await deliver();
  expect(both.signature).toMatch(/^v1,\S{44} v1,\S{44}$/);
  expect(await verified(both, fresh)).toBe(true);
  expect(await verified(both, old)).toBe(true);
  // A day later.
  const key = world.keys.hookSecrets(ACME);
  const list = JSON.parse((await world.redis.get(key)) ?? '') as { expires_at?: number }[];
  for (const secret of list) if (secret.expires_at) secret.expires_at -= 24 * 3_600_000;
  await world.redis.set(key, JSON.stringify(list));
  expect(await secretsOf(world).signing(ACME)).toEqual([fresh]);
  const one = await deliver();
  expect(one.signature).toMatch(/^v1,\S{44}$/);
  expect(await verified(one, fresh)).toBe(true);
  await expect(verified(one, old)).rejects.toThrow();
});

test('A fourth rotation within a day is refused, so that the first secret still signs until its day is over', async () => {
  const world = await webhookWorld(server.url);
  const secrets = secretsOf(world);
  const [first] = await secrets.signing(ACME);
  for (let i = 0; i < 3; i++) await secrets.rotate(ACME, SYSTEM_ACTOR);
  const signing = await secrets.signing(ACME);
  expect(signing).toHaveLength(4);
  expect(signing.at(-1)).toBe(first);
  const [current, ...old] = await secrets.list(ACME, SYSTEM_ACTOR);
  expect(current.expiresAt).toBeUndefined();
  for (const { expiresAt } of old) expect((expiresAt ?? 0) - Date.now()).toBeGreaterThan(86_000_000);
  const until = new Date(old.at(-1)?.expiresAt ?? 0).toISOString();
  await expect(secrets.rotate(ACME, SYSTEM_ACTOR)).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining(until),
  });
  expect(await secrets.signing(ACME)).toEqual(signing);
  // The day of the oldest one is over.
  const key = world.keys.hookSecrets(ACME);
  const stored = JSON.parse((await world.redis.get(key)) ?? '[]') as { expires_at?: number }[];
  stored[3].expires_at = Date.now() - 1;
  await world.redis.set(key, JSON.stringify(stored));
  expect(await secrets.signing(ACME)).toEqual(signing.slice(0, 3));
  await secrets.rotate(ACME, SYSTEM_ACTOR);
  expect(await secrets.signing(ACME)).toEqual([expect.any(String), ...signing.slice(0, 3)]);
});

test('Redis never stores a secret in clear, neither in keys nor in its log nor in a dump', async () => {
  const own = await startRedis(['--dbfilename', 'dump.rdb']);
  onTestFinished(() => own.stop());
  const world = await webhookWorld(own.url);
  const receiver = await webhookReceiver();
  await world.deliverer();
  await world.run(await world.hooked(receiver.url, undefined, ACME));
  await receiver.until(3);
  const { key } = await secretsOf(world).rotate(ACME, SYSTEM_ACTOR);
  await world.redis.save();
  const [, folder] = (await world.redis.config('GET', 'dir')) as [string, string];
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const contents = await Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), 'latin1')),
  );
  const stored = contents.join('\n');
  expect(stored).toContain('hook-secrets:acme');
  for (const secret of [key, ...(await secretsOf(world).signing(ACME))]) {
    const base64 = secret.slice('whsec_'.length);
    expect(stored).not.toContain(base64);
    expect(stored).not.toContain(Buffer.from(base64, 'base64').toString('latin1'));
  }
});

test('A stored secret can be decrypted only with the same key and for the same owner', async () => {
  const world = await webhookWorld(server.url);
  await secretsOf(world).signing(ACME);
  const stranger = secretsOf(world, 'another key of thirty-two characters or more');
  await expect(stranger.signing(ACME)).rejects.toThrow('has LEHR_SECRET_KEY changed?');
  const thief = 'thief' as TenantId;
  await world.redis.rename(world.keys.hookSecrets(ACME), world.keys.hookSecrets(thief));
  await expect(secretsOf(world).signing(thief)).rejects.toMatchObject({ code: 'internal' });
});
