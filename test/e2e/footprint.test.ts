/** The number of Redis connections and commands that Lehr uses. */
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { startStack } from '../support/stack.ts';
import { watchCommands } from '../support/watch-commands.ts';

/**
 * Enough that what is sent once for all jobs of a claim hardly counts for one of them: with 16 jobs it made up to two commands per job.
 * Few enough that their held requests are not checked again many times on a busy machine.
 */
const COUNT = 48;
/** Several of the intervals at which an idle fleet sends commands. */
const IDLE_MS = 5000;

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('A worker that serves forty groups uses at most four Redis connections', {
  tags: ['long'],
}, async () => {
  const stack = await startStack(server);
  const worker = await stack.worker();
  const jobs = await Promise.all(
    Array.from({ length: 40 }, (_, i) => stack.post({ width: 64 + 8 * i, steps: 2, sampler: 'euler' })),
  );
  for (const { id } of jobs) expect((await stack.over(id)).status).toBe('succeeded');
  const { data } = (await (await stack.ask('GET', '/v1/queues')).json()) as { data: unknown[] };
  expect(data).toHaveLength(40);
  const admin = testRedis(server.url);
  const clients = (await admin.client('LIST')) as string;
  const names = [...clients.matchAll(/ name=(lehr-\S*)/g)].map(([, name]) => name);
  await worker.stop();
  const left = [...((await admin.client('LIST')) as string).matchAll(/ name=(lehr-\S*)/g)].map(
    ([, name]) => name,
  );
  expect(names.length - left.length).toBeGreaterThan(0);
  expect(names.length - left.length).toBeLessThanOrEqual(4);
});

test('A job needs at most fifteen Redis commands from its request to its response', {
  tags: ['long'],
}, async () => {
  const stack = await startStack(server);
  await stack.worker();
  await stack.over((await stack.post()).id);

  const commands: string[] = [];
  await watchCommands(server.url, ({ args, source }) => {
    // The commands inside a script are not counted, only the script call.
    if (source !== 'lua') commands.push(args[0].toLowerCase());
  });
  // What an idle fleet sends is left out, because the jobs take longer on a busy machine.
  await setTimeout(IDLE_MS);
  const idlePerMs = commands.length / IDLE_MS;
  commands.length = 0;
  const startedAt = performance.now();
  const jobs = await Promise.all(Array.from({ length: COUNT }, (_, seed) => stack.post({ seed, steps: 20 })));
  for (const { id } of jobs) expect((await stack.over(id)).status).toBe('succeeded');
  const idle = idlePerMs * (performance.now() - startedAt);
  const perJob = (commands.length - idle) / COUNT;
  const counts = new Map<string, number>();
  for (const name of commands) counts.set(name, (counts.get(name) ?? 0) + 1);
  const list = [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${(count / COUNT).toFixed(1)}`);
  process.stdout.write(
    `Redis commands per job: ${perJob.toFixed(1)} (${list.join(', ')}), idle fleet ${(idle / COUNT).toFixed(1)}\n`,
  );
  expect(perJob).toBeLessThanOrEqual(15);
});
