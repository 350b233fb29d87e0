/** Text calls without a record (`durability: "none"`) through API, worker and engine, also when one of the processes dies. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { keysOf, type Redis } from '../../packages/shared/src/redis/index.ts';
import { shared } from '../support/cleanup.ts';
import type { LehrProcess } from '../support/lehr-process.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { unpackTextFixture } from '../support/text-fixtures.ts';
import { SLOW_MACHINE } from '../support/timeouts.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { watchCommands } from '../support/watch-commands.ts';

const CALLS = 32;
const NONE = { 'lehr-durability': 'none' };

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

interface DirectStack extends Stack {
  readonly worker1: LehrProcess;
  readonly redis: Redis;
  /** Jobs that count among the unfinished ones of the tenant, and those that a worker has. */
  counts(): Promise<{ readonly live: number; readonly direct: number }>;
  embed(text: string, options?: RequestInit): Promise<Response>;
}

async function directStack(on: TestRedis = server): Promise<DirectStack> {
  const folder = await tempFolder('direct-texts');
  const models = join(folder, 'models.yaml');
  unpackTextFixture('bert-sentences', join(folder, 'bert'), 'onnx');
  writeFileSync(
    models,
    'models:\n  - { name: bert, task: text, tasks: [text-embedding], versions: [{ version: "1", path: bert }] }\n',
  );
  const stack = await startStack(on, { LEHR_MODELS: models, LEHR_TASKS: 'text' });
  const worker1 = await stack.worker();
  const keys = keysOf(stack.namespace);
  const redis = testRedis(on.url);
  const headers = { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json', ...NONE };
  const direct: DirectStack = {
    ...stack,
    worker1,
    redis,
    counts: async () => {
      const workers = await redis.smembers(keys.workers);
      const counts = await Promise.all(workers.map((id) => redis.zcard(keys.direct(id as never))));
      return { live: await redis.zcard(keys.live), direct: counts.reduce((sum, count) => sum + count, 0) };
    },
    embed: (input, options) =>
      fetch(`${stack.url}/v1/embeddings`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ input }),
        ...options,
      }),
  };
  // The first call opens the channel on which ends come, and so has a record.
  await vi.waitFor(async () => {
    expect((await direct.embed('a red circle')).headers.get('lehr-durability')).toBe('none');
  }, SLOW_MACHINE);
  return direct;
}

/** For tests after which API and worker work as before. */
const common = shared(() => directStack());

test('A call without a record gets the same answer in at most eight Redis commands, and leaves nothing behind', async () => {
  const stack = common;
  const stored = await stack.embed('a blue square', {
    headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
  });
  expect(stored.headers.get('lehr-durability')).toBeNull();
  const answer = await stack.embed('a blue square');
  expect(answer.status).toBe(200);
  expect(answer.headers.get('lehr-durability')).toBe('none');
  expect(await answer.json()).toEqual(await stored.json());

  const native = await stack.ask('POST', '/v1/jobs?wait=10', {
    type: 'text-embedding',
    input: { texts: ['a blue square'] },
    durability: 'none',
  });
  expect(native.status).toBe(200);
  expect(native.headers.get('location')).toBeNull();
  const job = (await native.json()) as { id: string; status: string; input: { texts: string[] } };
  expect(job).toMatchObject({ status: 'succeeded', input: { texts: ['a blue square'] } });
  expect((await stack.ask('GET', `/v1/jobs/${job.id}`)).status).toBe(404);

  const before = await stack.redis.keys(`{${stack.namespace}}:*`);
  const counts = new Map<string, number>();
  await watchCommands(server.url, ({ args: [name], source }) => {
    if (source !== 'lua') counts.set(name.toLowerCase(), (counts.get(name.toLowerCase()) ?? 0) + 1);
  });
  const took: number[] = [];
  for (let i = 0; i < CALLS; i++) {
    const startedAt = performance.now();
    const each = await stack.embed(`circle ${i}`);
    expect(each.headers.get('lehr-durability')).toBe('none');
    await each.text();
    took.push(performance.now() - startedAt);
  }
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0) / CALLS;
  const list = [...counts].map(([name, count]) => `${name} ${(count / CALLS).toFixed(1)}`).join(', ');
  const median = took.sort((a, b) => a - b)[CALLS / 2] ?? 0;
  process.stdout.write(
    `Redis commands per direct call: ${all.toFixed(1)} (${list}), median ${median.toFixed(1)} ms\n`,
  );
  // Reports, readings of the fleet and the janitor's rounds are among them: their share grows with the time that a call takes.
  expect(all).toBeLessThanOrEqual(8);
  expect(await stack.counts()).toEqual({ live: 0, direct: 0 });
  const left = (await stack.redis.keys(`{${stack.namespace}}:*`)).filter((key) => !before.includes(key));
  expect(left.filter((key) => /:record:|:history:|:unanswered:/.test(key))).toEqual([]);
});

test('When the worker of a call without a record is killed, the caller gets a retryable error and its place is free again', {
  tags: ['long'],
}, async () => {
  const stack = await directStack();
  stack.worker1.signal('SIGSTOP');
  const answer = stack.embed('a red circle');
  await expect.poll(stack.counts).toEqual({ live: 1, direct: 1 });
  stack.worker1.signal('SIGKILL');
  const refused = await answer;
  expect(refused.status).toBe(503);
  expect(JSON.stringify(await refused.json())).toContain('send it again');
  expect(await stack.counts()).toEqual({ live: 0, direct: 0 });
  // Another call finds no worker that listens, and so has a record, which the next worker runs.
  const next = stack.embed('a red circle');
  await stack.worker();
  expect((await next).headers.get('lehr-durability')).toBeNull();
  expect((await next).status).toBe(200);
});

test('When the caller of a call without a record hangs up, its place is free again and nothing is answered', async () => {
  const stack = common;
  stack.worker1.signal('SIGSTOP');
  const hangUp = new AbortController();
  const answer = stack.embed('a red circle', { signal: hangUp.signal });
  await expect.poll(stack.counts).toEqual({ live: 1, direct: 1 });
  hangUp.abort();
  await expect(answer).rejects.toThrow();
  await expect.poll(stack.counts).toEqual({ live: 0, direct: 0 });
  stack.worker1.signal('SIGCONT');
  await stack.worker1.logged('job had already ended');
  expect((await stack.embed('a red circle')).status).toBe(200);
});

test('When the API of a call without a record is killed, its worker frees its place', async () => {
  const stack = await directStack();
  stack.worker1.signal('SIGSTOP');
  const answer = stack.embed('a red circle').catch(() => 'no answer');
  await expect.poll(stack.counts).toEqual({ live: 1, direct: 1 });
  stack.api.signal('SIGKILL');
  expect(await answer).toBe('no answer');
  stack.worker1.signal('SIGCONT');
  await expect.poll(stack.counts).toEqual({ live: 0, direct: 0 });
});

test('A call without a record counts in the limits of its tenant while it runs', async () => {
  const stack = common;
  const made = await stack.ask('POST', '/v1/keys', { name: 'one', tenant: 'one', limits: { max_jobs: 1 } });
  expect(made.status).toBe(201);
  const { key } = (await made.json()) as { key: string };
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...NONE };
  stack.worker1.signal('SIGSTOP');
  const first = stack.embed('a red circle', { headers });
  await expect.poll(stack.counts).toEqual({ live: 1, direct: 1 });
  const second = await stack.embed('a blue circle', { headers });
  expect(second.status).toBe(429);
  stack.worker1.signal('SIGCONT');
  expect((await first).status).toBe(200);
});

/** Stops the process in which the graphs of the worker run; returns its id. */
function stopEngine(worker: LehrProcess): number {
  const children = readFileSync(`/proc/${worker.pid}/task/${worker.pid}/children`, 'utf8').trim().split(' ');
  const found = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('engine'));
  const engine = Number(found);
  process.kill(engine, 'SIGSTOP');
  onTestFinished(() => {
    try {
      process.kill(engine, 'SIGKILL');
    } catch {
      // It has ended with its worker, or in the test.
    }
  });
  return engine;
}

const onLinux = test.runIf(process.platform === 'linux');

onLinux('A worker that drains still answers a call without a record that it has begun', async () => {
  const stack = await directStack();
  const engine = stopEngine(stack.worker1);
  let checks = 0;
  await watchCommands(server.url, ({ args: [name, channel, message] }) => {
    if (name === 'publish' && channel.includes(`${stack.namespace}}:direct:`) && message === '') checks++;
  });
  const answer = stack.embed('a red circle');
  await expect.poll(stack.counts).toEqual({ live: 1, direct: 1 });
  stack.worker1.signal('SIGTERM');
  await stack.worker1.logged('draining');
  // The API goes on asking whether the worker is there, and gets the answer that it is.
  const before = checks;
  await expect.poll(() => checks).toBeGreaterThan(before + 1);
  process.kill(engine, 'SIGCONT');
  const answered = await answer;
  expect([answered.status, answered.headers.get('lehr-durability')]).toEqual([200, 'none']);
  expect(await stack.worker1.exited()).toBe(0);
  expect(await stack.counts()).toEqual({ live: 0, direct: 0 });
});

onLinux(
  'When the engine dies, its call is answered or refused, and a call that comes then gets a record',
  { tags: ['long'] },
  async () => {
    const stack = await directStack();
    const engine = stopEngine(stack.worker1);
    const answer = stack.embed('a red circle');
    await expect.poll(stack.counts).toEqual({ live: 1, direct: 1 });
    process.kill(engine, 'SIGKILL');
    await stack.worker1.logged('engine died');
    const next = await stack.embed('a blue circle');
    expect([next.status, next.headers.get('lehr-durability')]).toEqual([200, null]);
    // A busy machine may need more than the 8 seconds of such a call to start an engine.
    expect([200, 503]).toContain((await answer).status);
    await expect.poll(stack.counts).toEqual({ live: 0, direct: 0 });
  },
);

onLinux(
  'When Redis is lost during a call without a record, the caller gets a retryable error, and later calls work',
  { tags: ['long'] },
  async () => {
    const own = await startRedis();
    onTestFinished(() => own.stop());
    const stack = await directStack(own);
    const engine = stopEngine(stack.worker1);
    const answer = stack.embed('a red circle');
    await expect.poll(stack.counts).toEqual({ live: 1, direct: 1 });
    await own.kill();
    const refused = await answer;
    expect(refused.status).toBe(503);
    expect(JSON.stringify(await refused.json())).toContain('send it again');
    await own.restart();
    process.kill(engine, 'SIGCONT');
    await expect.poll(stack.counts, { timeout: 60_000 }).toEqual({ live: 0, direct: 0 });
    await expect
      .poll(async () => (await stack.embed('a red circle')).headers.get('lehr-durability'), {
        timeout: 60_000,
      })
      .toBe('none');
    await own.kill();
    stack.worker1.signal('SIGTERM');
    expect(await stack.worker1.exited()).toBe(0);
  },
);
