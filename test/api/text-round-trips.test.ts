/** What the API sends to Redis for a held call with one small text: the short way of docs/text.md. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { textWorld } from '../support/text-world.ts';
import { watchCommands } from '../support/watch-commands.ts';

const CALLS = 20;
/** Readings of workers, groups, loads and memory: all calls of some hundred milliseconds share one of each. */
const SHARED = ['smembers', 'info', 'hmget', 'mget', 'srem'];
/** Readings of rollouts, of a pool's scale and of the key: all calls of one or two seconds share one of each. */
const SHARED_KEYS = /^(?:hgetall .*:(?:rollouts$|key:)|get .*:scale:)/;

/** A call that takes longer reads its job (follow/wait.ts), as some do on a busy machine. */
const READS_AFTER_MS = 250;

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('A held call for a small text takes at most four commands of the API', async () => {
  const world = await textWorld(server.url);
  const ask = async (): Promise<void> => {
    const answer = await world.ask('POST', '/v1/embeddings', { input: 'a red circle' });
    expect(answer.status).toBe(200);
    await answer.text();
  };
  await ask();
  const redis = testRedis(server.url);
  const commands: { readonly text: string; readonly source: string }[] = [];
  let ended = (): void => {};
  const isOver = new Promise<void>((resolve) => {
    ended = resolve;
  });
  await watchCommands(server.url, ({ args, source }) => {
    if (args[1] === 'the end') ended();
    else if (source !== 'lua') commands.push({ text: args.slice(0, 3).join(' '), source });
  });
  let slowestMs = 0;
  for (let i = 0; i < CALLS; i++) {
    const startedAt = performance.now();
    await ask();
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
  }
  await redis.echo('the end');
  await isOver;
  // The connection that marks requests is that of the API.
  const api = commands.find(({ text }) => text.startsWith('zrem') && text.includes(':unanswered:'))?.source;
  const notCounted = slowestMs < READS_AFTER_MS ? SHARED : [...SHARED, 'hgetall', 'get'];
  const counts = new Map<string, number>();
  for (const { text, source } of commands) {
    const name = text.split(' ')[0];
    if (source !== api || notCounted.includes(name) || SHARED_KEYS.test(text)) continue;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const list = [...counts].map(([name, count]) => `${name} ${(count / CALLS).toFixed(2)}`).join(', ');
  process.stdout.write(`Commands of the API per held call: ${list}\n`);
  const perCall = [...counts.values()].reduce((sum, count) => sum + count, 0) / CALLS;
  expect(perCall).toBeLessThanOrEqual(4);
});
