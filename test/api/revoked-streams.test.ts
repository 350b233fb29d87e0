/** An open event stream ends soon after its key is revoked, expires or loses its scopes. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endRevoked } from '../../apps/api/src/follow/streams.ts';
import { systemClock } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, jobOf } from '../support/api-world.ts';
import { type KeyHolder, keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { within } from '../support/timeouts.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const drawing = { type: 'text-to-image', input: { prompt: 'a circle' } };

/** Clocks that the test moves, so that cached keys are read again. */
async function movedWorld() {
  let passedMs = 0;
  const clock = {
    ...systemClock,
    monotonic: () => systemClock.monotonic() + passedMs,
    now: () => systemClock.now() + passedMs,
  };
  const world = await apiWorld(server.url, { clock });
  const check = async (ms: number): Promise<void> => {
    passedMs += ms;
    await endRevoked(world.parts);
  };
  return { world, check };
}

/** Follows a job; `ended` resolves with all of the stream when it ends. */
async function follow(ask: ApiWorld['ask'], id: string): Promise<{ ended: Promise<string> }> {
  const response = await ask('GET', `/v1/jobs/${id}/events`);
  expect(response.status).toBe(200);
  return { ended: within(60_000, 'the end of the stream', response.text()) };
}

test.each([
  ['revoked', (world: ApiWorld, { key }: KeyHolder) => world.ask('DELETE', `/v1/keys/${key.id}`), 1000],
  [
    'left without the scope read',
    (world: ApiWorld, { key }: KeyHolder) => world.ask('PATCH', `/v1/keys/${key.id}`, { scopes: ['cancel'] }),
    1000,
  ],
  [
    'left with the scope submit alone',
    (world: ApiWorld, { key }: KeyHolder) => world.ask('PATCH', `/v1/keys/${key.id}`, { scopes: ['submit'] }),
    1000,
  ],
  ['expired', async () => {}, 3_600_000],
] as const)(
  'The streams of a key that is %s end, and those of other keys go on',
  async (_, change, passedMs) => {
    const { world, check } = await movedWorld();
    const expires_at = new Date(Date.now() + 1_800_000).toISOString();
    const holder = await keyHolder(world, 'acme', { expires_at });
    const other = await keyHolder(world, 'acme');
    const { id } = await jobOf(await holder.ask('POST', '/v1/jobs', drawing));
    const streams = [await follow(holder.ask, id), await follow(holder.ask, id)];
    const kept = await follow(other.ask, id);
    await check(1000);
    await change(world, holder);
    await check(passedMs);
    for (const { ended } of streams) {
      const text = await ended;
      expect(text).toContain('job.queued');
      expect(text).not.toContain('job.canceled');
    }
    await other.ask('POST', `/v1/jobs/${id}/cancel`);
    expect(await kept.ended).toContain('job.canceled');
    expect(world.parts.streams.keyIds).toEqual([]);
  },
);

test('A stream of the configured key and one of a signed link are not ended', async () => {
  const { world, check } = await movedWorld();
  const { id, links } = await world.post();
  const byKey = await follow(world.ask, id);
  const byLink = await world.app.request(
    new URL(links.events_signed).pathname + new URL(links.events_signed).search,
  );
  await check(10_000);
  await world.ask('POST', `/v1/jobs/${id}/cancel`);
  expect(await byKey.ended).toContain('job.canceled');
  expect(await byLink.text()).toContain('job.canceled');
});

test('A stored key that cannot be read does not keep the streams of other keys open', async () => {
  const { world, check } = await movedWorld();
  const [damaged, revoked] = [await keyHolder(world, 'acme'), await keyHolder(world, 'acme')];
  const other = await keyHolder(world, 'acme');
  const { id } = await jobOf(await damaged.ask('POST', '/v1/jobs', drawing));
  const kept = await follow(damaged.ask, id);
  const { ended } = await follow(revoked.ask, id);
  await world.ask('DELETE', `/v1/keys/${revoked.key.id}`);
  const { redis, keys } = world.parts;
  await redis.hset(keys.apiKey(damaged.key.id), 'scopes', 'damaged');
  await check(1000);
  expect(await ended).not.toContain('job.canceled');
  expect(world.parts.streams.keyIds).toEqual([damaged.key.id]);
  await other.ask('POST', `/v1/jobs/${id}/cancel`);
  expect(await kept.ended).toContain('job.canceled');
});
