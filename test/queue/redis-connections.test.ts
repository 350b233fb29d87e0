import { expect, onTestFinished, test } from 'vitest';
import {
  type ConnectionRole,
  openRedis,
  type Redis,
  type RedisAddress,
  redisAddress,
  redisReady,
} from '../../packages/shared/src/redis/index.ts';
import { operatorUrl, replicaOf, startRedis, type TestRedis } from '../support/redis-server.ts';
import { MASTER_NAME, startSentinel } from '../support/sentinel.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';

async function server(...extra: string[]): Promise<TestRedis> {
  const redis = await startRedis(extra);
  onTestFinished(() => redis.stop());
  return redis;
}

async function client(address: string | RedisAddress, role: ConnectionRole): Promise<Redis> {
  const redis = openRedis(address, role, `test-${role}`);
  onTestFinished(() => redis.disconnect());
  await redisReady(redis, 20_000);
  return redis;
}

/** Resolves with the first value that `attempt` gives without an error. */
async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  let value: T | undefined;
  await expect
    .poll(
      async () => {
        value = await attempt();
        return true;
      },
      { timeout: 90_000 },
    )
    .toBe(true);
  return value as T;
}

test('A command of a worker on a connection that went silent is answered over a new connection', async () => {
  const proxy = await tcpProxy((await server()).port);
  const redis = await client(operatorUrl(`127.0.0.1:${proxy.port}`), 'worker');
  proxy.silence();
  expect(await redis.set('key', 'value')).toBe('OK');
});

test('A command of the API on a connection that went silent fails, and later ones use a new connection', async () => {
  const proxy = await tcpProxy((await server()).port);
  const redis = await client(operatorUrl(`127.0.0.1:${proxy.port}`), 'api');
  proxy.silence();
  await expect(redis.get('key')).rejects.toThrow('Command timed out');
  expect(await eventually(() => redis.set('key', 'value'))).toBe('OK');
});

test('A subscriber whose connection went silent receives messages again, although it sends no command', async () => {
  const { port, url } = await server();
  const proxy = await tcpProxy(port);
  const subscriber = await client(operatorUrl(`127.0.0.1:${proxy.port}`), 'subscriber');
  const publisher = await client(url, 'worker');
  await subscriber.subscribe('channel');
  const message = new Promise((resolve) => subscriber.once('message', (_, text) => resolve(text)));
  proxy.silence();
  await eventually(async () => {
    if ((await publisher.publish('channel', 'hello')) < 2)
      throw new Error('only the silent connection is subscribed');
  });
  expect(await message).toBe('hello');
});

test('A blocking connection gives up a handshake that is not answered long before its socket timeout, and tries again', async () => {
  const proxy = await tcpProxy((await server()).port);
  const redis = await client(operatorUrl(`127.0.0.1:${proxy.port}`), 'blocking');
  proxy.silenceAll();
  proxy.reset();
  // With the socket timeout of 20 s for each handshake, the fourth connection would come after 40 s.
  await expect.poll(() => proxy.accepted, { timeout: 35_000 }).toBeGreaterThanOrEqual(4);
  proxy.restore();
  expect(await redis.set('key', 'value')).toBe('OK');
});

test.each(['api', 'worker'] as const)(
  'A connection of role %s leaves a server that became a replica for the one that its address leads to',
  async (role) => {
    const [old, next] = [await server(), await server()];
    const proxy = await tcpProxy(old.port);
    const redis = await client(operatorUrl(`127.0.0.1:${proxy.port}`), role);
    const admin = await client(old.url, 'worker');
    await redis.set('key', 'before');
    proxy.retarget(next.port);
    await admin.call('REPLICAOF', '127.0.0.1', `${next.port}`);
    await expect(redis.set('key', 'after')).rejects.toThrow('READONLY');
    await eventually(() => redis.set('key', 'after'));
    expect(await (await client(next.url, 'worker')).get('key')).toBe('after');
  },
);

const bySentinel = (port: number): RedisAddress =>
  redisAddress({ LEHR_REDIS_URL: `${operatorUrl(MASTER_NAME)}?sentinels=127.0.0.1:${port}` });

test('Connections that know the Sentinels follow a failover to the replica', {
  timeout: 300_000,
}, async () => {
  const master = await server();
  const replica = await server(...replicaOf(master.port));
  const sentinel = await startSentinel(master.port);
  const address = bySentinel(sentinel);
  const connections = await Promise.all((['api', 'worker'] as const).map((role) => client(address, role)));
  const subscriber = await client(address, 'subscriber');
  await subscriber.subscribe('channel');
  const direct = await client(replica.url, 'worker');
  await eventually(async () => {
    await connections[0].set('key', 'before');
    if ((await direct.get('key')) !== 'before') throw new Error('the replica is not in step yet');
  });
  const watcher = await client(`redis://127.0.0.1:${sentinel}`, 'worker');
  await eventually(async () => {
    const [state] = (await watcher.call('SENTINEL', 'REPLICAS', MASTER_NAME)) as unknown[];
    if (!state) throw new Error('the Sentinel does not know the replica yet');
  });

  await master.kill();

  for (const redis of connections) expect(await eventually(() => redis.get('key'))).toBe('before');
  for (const redis of connections) expect(await eventually(() => redis.set('key', 'after'))).toBe('OK');
  expect(await direct.get('key')).toBe('after');
  const message = new Promise((resolve) => subscriber.once('message', (_, text) => resolve(text)));
  await eventually(async () => {
    if ((await connections[1].publish('channel', 'hello')) === 0) throw new Error('not subscribed yet');
  });
  expect(await message).toBe('hello');
});

test('A connection that learns of a failover while it asks a Sentinel for the master connects to the new one', async () => {
  const master = await server();
  const replica = await server(...replicaOf(master.port));
  const sentinel = await startSentinel(master.port);
  const proxy = await tcpProxy(sentinel);
  const redis = await client(bySentinel(proxy.port), 'worker');
  await redis.set('key', 'before');
  const watcher = await client(`redis://127.0.0.1:${sentinel}`, 'worker');
  await eventually(async () => {
    const subscribed = String(await watcher.call('CLIENT', 'LIST')).match(/ sub=1 /g) ?? [];
    if (subscribed.length === 0) throw new Error('the connection does not listen for failovers yet');
  });
  await eventually(async () => {
    const [state] = (await watcher.call('SENTINEL', 'REPLICAS', MASTER_NAME)) as string[][];
    if (!state?.includes(`${replica.port}`)) throw new Error('the Sentinel does not know the replica yet');
  });
  const direct = await client(replica.url, 'worker');
  await eventually(async () => {
    if ((await direct.get('key')) !== 'before') throw new Error('the replica is not in step yet');
  });
  // Subscribed after the connection and over the same proxy, so that the connection gets the message first.
  const subscriber = await client(`redis://127.0.0.1:${proxy.port}`, 'subscriber');
  await subscriber.subscribe('+switch-master');
  const switched = new Promise((resolve) => subscriber.once('message', resolve));

  proxy.hold();
  await master.kill();
  await switched;
  proxy.release();

  expect(await eventually(() => redis.get('key'))).toBe('before');
});

test.each(['api', 'worker', 'subscriber'] as const)(
  'The commands that a connection of the role %s gets in one turn of the event loop go in one write',
  async (role) => {
    const { url } = await server();
    const redis = await client(url, role);
    const reads = async (): Promise<number> =>
      Number(/total_reads_processed:(\d+)/.exec(await observer.info('stats'))?.[1]);
    const observer = await client(url, 'worker');
    const before = await reads();
    await Promise.all(Array.from({ length: 50 }, () => redis.ping()));
    // With one write a command there would be fifty. Some are of the connections' own commands.
    expect((await reads()) - before).toBeLessThan(25);
  },
);
