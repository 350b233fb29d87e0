/** A batch of 100,000 jobs beside another tenant. What it costs is printed and not asserted: it depends on the machine. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { chaosWorld } from '../../lab/chaos/chaos-world.ts';
import { BatchSchema, newWorkerId, reportWorker } from '../../packages/shared/src/index.ts';
import { AttemptStore } from '../../packages/shared/src/queue/index.ts';
import { RecordStore } from '../../packages/shared/src/records/index.ts';
import { keysOf, type Redis } from '../../packages/shared/src/redis/index.ts';
import { whenDone } from '../support/cleanup.ts';
import { testRedis } from '../support/redis.ts';

const LINES = 100_000;
const CLAIMED_AT_ONCE = 100;
const QUEUE = 'diffusion.tiny@1.64x64';
const MB = 2 ** 20;
/** Of records, queue entries and events of the few slices that are open, and of what an empty Redis has. */
const MAX_MB = 40;

/** A device that needs no time: it ends every job as soon as it has claimed it, and counts how often each line was run. */
async function instantWorker(redis: Redis, namespace: string) {
  const keys = keysOf(namespace);
  const records = new RecordStore(redis, keys, { retentionMs: 3_600_000 });
  const id = newWorkerId('instant');
  const attempts = new AttemptStore({ redis, keys, records, worker: id, leaseMs: 30_000 });
  const report = () =>
    reportWorker(redis, keys, {
      id,
      started_at: Date.now(),
      tasks: ['diffusion'],
      draining: false,
      models: [{ ref: 'tiny@1', batching: 'step', providers: { unet: 'cpu' } }],
      unavailable: [],
      jobs: 0,
      lanes: [],
    });
  const timings = { queued: 1, admitted: 1, text: 1, denoise: 1, decode: 1, encode: 1, upload: 1 };
  const metrics = { queue_ms: 1, run_ms: 6, total_ms: 7, batch_size: 1, worker: id, timings };
  const fields = { output: { images: [] }, metrics };
  let isOver = false;
  let ended = 0;
  await report();
  const rounds = (async () => {
    for (let reportedAt = Date.now(); !isOver; ) {
      const started = await attempts.start(QUEUE, CLAIMED_AT_ONCE);
      await Promise.all(
        started.map(({ claim }) =>
          attempts.end(claim, { move: 'succeed', id: claim.jobId, lease: claim.token, fields }),
        ),
      );
      ended += started.length;
      if (started.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      if (Date.now() - reportedAt < 2_000) continue;
      reportedAt = Date.now();
      await report();
    }
  })();
  whenDone(async () => {
    isOver = true;
    await rounds;
  });
  return { ended: () => ended };
}

/** Ms of CPU time of a process. */
function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * share)];

test('A batch of 100,000 jobs loses and doubles none, takes a bounded part of Redis, and lets other callers through', {
  tags: ['long'],
}, async ({ annotate }) => {
  const world = await chaosWorld();
  const { client } = world;
  const redis = testRedis(world.redis.url);
  const worker = await instantWorker(redis, world.namespace);
  const other = (await (await client.ask('POST', '/v1/keys', { tenant: 'other' })).json()) as { key: string };
  /** Ms from the request until its end, of an interactive job of the other tenant. */
  const interactive = async (): Promise<number> => {
    const began = performance.now();
    const response = await fetch(`${world.url}/v1/jobs?wait=30`, {
      method: 'POST',
      headers: { authorization: `Bearer ${other.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'text-to-image', input: { prompt: 'a' }, priority: 'interactive' }),
    });
    expect(((await response.json()) as { status: string }).status).toBe('succeeded');
    return performance.now() - began;
  };
  const alone: number[] = [];
  for (let i = 0; i < 40; i += 1) alone.push(await interactive());

  const prompts = Array.from({ length: LINES / 1_000 }, (_, i) => `prompt ${i}`);
  const sweep = {
    request: { type: 'text-to-image', input: {} },
    values: { prompt: prompts, seed: Array.from({ length: 1_000 }, (_, i) => i) },
  };
  const before = { api: cpuMs(world.api.pid), redis: cpuMs(world.redis.pid), at: performance.now() };
  const made = BatchSchema.parse(await (await client.ask('POST', '/v1/batches', { sweep })).json());
  const beside: number[] = [];
  let mostBytes = 0;
  let batch = made;
  while (batch.status === 'in_progress' || batch.status === 'finalizing') {
    beside.push(await interactive());
    mostBytes = Math.max(mostBytes, Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]));
    batch = BatchSchema.parse(await (await client.ask('GET', `/v1/batches/${made.id}`)).json());
  }
  const seconds = (performance.now() - before.at) / 1000;
  const us = (pid: number, from: number): number => ((cpuMs(pid) - from) * 1000) / LINES;
  const cost = {
    seconds,
    apiUsPerJob: us(world.api.pid, before.api),
    redisUsPerJob: us(world.redis.pid, before.redis),
    mostMb: mostBytes / MB,
    p95Alone: quantile(alone, 0.95),
    p95Beside: quantile(beside, 0.95),
    p50Alone: quantile(alone, 0.5),
    p50Beside: quantile(beside, 0.5),
    calls: beside.length,
  };
  // Shown, and not asserted.
  await annotate(JSON.stringify(cost));
  expect(batch.request_counts).toEqual({ total: LINES, completed: LINES, failed: 0 });
  expect(worker.ended()).toBe(LINES + alone.length + beside.length);
  expect(mostBytes).toBeLessThan(MAX_MB * MB);

  const answer = await client.ask('GET', `/v1/files/${batch.output_file_id}/content`);
  let rest = '';
  let line = 0;
  const ids = new Set<string>();
  const decoder = new TextDecoder();
  for await (const chunk of answer.body ?? []) {
    const texts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = texts.pop() ?? '';
    for (const text of texts) {
      const { custom_id, response } = JSON.parse(text);
      line += 1;
      expect([custom_id, response.body.input.prompt, response.body.input.seed]).toEqual([
        `line-${line}`,
        prompts[Math.floor((line - 1) / 1_000)],
        (line - 1) % 1_000,
      ]);
      ids.add(response.body.id);
    }
  }
  expect([line, ids.size]).toEqual([LINES, LINES]);
});
