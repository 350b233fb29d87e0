/** Real faults: processes are killed, frozen and drained, and every job still ends exactly once. */
import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type JobId, newJobId } from '../../packages/shared/src/index.ts';
import { placeOf } from '../../packages/shared/src/objects/made-at.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { SLOW_MACHINE } from '../support/timeouts.ts';
import { type WorkerWorld, workerWorld } from '../support/worker-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** Steps of 40 ms: long enough for a fault in the middle of a batch. */
const SLOW = { stepBaseMs: 30, stepPerRowMs: 2, pictureMs: 5, textMs: 1 };
const SHORT_LEASES = {
  leaseMs: 1500,
  stalledCheckMs: 300,
  times: { renewEveryMs: 250, janitorEveryMs: 300 },
};
/** Requeues the jobs of lost leases at once, and keeps its own leases when the machine stalls for a while. */
const RESCUER = {
  latency: { stepBaseMs: 1, stepPerRowMs: 0, pictureMs: 1, textMs: 1 },
  stalledCheckMs: 300,
  times: SHORT_LEASES.times,
};

/** Every job succeeded, ended once, and its record names exactly the files that are stored. */
async function expectAllDone(world: WorkerWorld, ids: readonly JobId[]): Promise<void> {
  const visible: string[] = [];
  for (const id of ids) {
    const record = await world.reached(id);
    if (record.state !== 'succeeded') throw new Error(`${record.state}: ${JSON.stringify(record)}`);
    for (const { key } of record.output.images) {
      expect((await world.readObject(key)).length).toBeGreaterThan(50);
      visible.push(`${key},object`);
    }
    const ends = (await world.records.events(id, 0)).filter(({ type }) =>
      /succeeded|failed|canceled|expired/.test(type),
    );
    expect(ends).toHaveLength(1);
  }
  await vi.waitFor(async () => {
    const stored = await readdir(join(world.home, 'objects', 'out'), {
      recursive: true,
      withFileTypes: true,
    });
    const files = stored
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));
    expect(files.length).toBe(visible.length);
  }, SLOW_MACHINE);
}

const running = (world: WorkerWorld, id: JobId) => world.reached(id, 'running');
/** As if a caller followed the job: without one, its progress is written every few seconds only. */
const follow = (world: WorkerWorld, id: JobId) => world.redis.set(world.keys.followed(id), '1');
/** Resolves when the job has progress. */
const hasProgress = async (world: WorkerWorld, id: JobId) => {
  await follow(world, id);
  await vi.waitFor(
    async () =>
      expect(await world.records.read(id)).toMatchObject({ progress: { step: expect.any(Number) } }),
    SLOW_MACHINE,
  );
};
const draws = (world: WorkerWorld, count: number, steps = 20) =>
  Promise.all(
    Array.from({ length: count }, async (_, seed) => {
      const id = newJobId();
      await follow(world, id);
      return world.draw({ seed, steps }, { id });
    }),
  );

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('A kill -9 of the engine in the middle of a batch costs time and no attempt', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  const worker = await world.simulated({ latency: SLOW });
  const { engine } = await worker.logged('simulated worker serves');
  const ids = await draws(world, 8, 40);
  await hasProgress(world, ids[7]);
  process.kill(engine as number, 'SIGKILL');
  expect((await worker.logged('engine died')).running).toBeGreaterThan(0);
  await expectAllDone(world, ids);
  for (const id of ids) expect(await world.records.read(id)).toMatchObject({ attempt: 1 });
});

test('An engine whose worker is killed in the middle of a batch exits without an error message', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  const worker = await world.simulated({ latency: SLOW, ...SHORT_LEASES });
  const { engine } = await worker.logged('simulated worker serves');
  const ids = await draws(world, 4, 40);
  await hasProgress(world, ids[3]);
  worker.signal('SIGKILL');
  await expect.poll(() => isAlive(engine as number)).toBe(false);
  expect(worker.lines.filter(({ level }) => level === 'text')).toEqual([]);
  await world.simulated(RESCUER);
  await expectAllDone(world, ids);
});

test('A kill -9 of the engine fails no job, not even one that was alone in its batch', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  const worker = await world.simulated({ latency: SLOW });
  const { engine } = await worker.logged('simulated worker serves');
  const id = await world.draw({ steps: 60 });
  await hasProgress(world, id);
  process.kill(engine as number, 'SIGKILL');
  expect((await worker.logged('engine died')).running).toBe(1);
  await expectAllDone(world, [id]);
});

test('A job that crashes the engine is found by halving its batch, and the seven other jobs finish', async () => {
  const world = await workerWorld(server.url);
  const ids = await Promise.all(
    Array.from({ length: 8 }, (_, seed) => world.draw({ seed, prompt: seed === 5 ? 'CRASH' : 'a circle' })),
  );
  const worker = await world.simulated({ latency: SLOW, faulty: true });
  const [crashing] = ids.splice(5, 1);
  expect(await world.reached(crashing)).toMatchObject({
    state: 'failed',
    error: { code: 'engine-crashed', retryable: false },
  });
  await expectAllDone(world, ids);
  const crashes = worker.lines.filter(({ msg }) => msg === 'engine died').length;
  expect(crashes).toBeLessThanOrEqual(4);
});

test('A job that ends every worker which runs it fails at last, and the seven jobs beside it finish', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  const ids = await draws(world, 8, 6);
  const [deadly] = ids.splice(3, 1);
  const record = await world.records.read(deadly);
  await world.redis.hset(
    world.keys.record(deadly),
    'input',
    JSON.stringify({ ...record?.input, prompt: 'KILL' }),
  );
  const state = async () => (await world.records.read(deadly))?.state;
  while ((await state()) !== 'failed') {
    const worker = await world.simulated({ latency: SLOW, faulty: true, ...SHORT_LEASES });
    await Promise.race([worker.exited(), world.reached(deadly, 'failed')]);
  }
  expect(await world.records.read(deadly)).toMatchObject({ error: { code: 'attempts-exhausted' } });
  await expectAllDone(world, ids);
});

test('An engine that hangs inside a graph run is killed, and the other active jobs finish', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  const worker = await world.simulated({ latency: SLOW, faulty: true, silenceMs: 2000 });
  const [good, bad] = [await world.draw({ steps: 10 }), await world.draw({ prompt: 'HANG', seed: 2 })];
  await worker.line(({ msg, exit }) => msg === 'engine died' && (exit as { hung: boolean }).hung);
  expect(await world.reached(bad)).toMatchObject({ state: 'failed', error: { code: 'engine-crashed' } });
  await expectAllDone(world, [good]);
});

test('An engine whose step takes far longer than those measured before is killed long before the configured limit', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  const worker = await world.simulated({ faulty: true, silenceMs: 16_000 });
  await expectAllDone(world, [await world.draw({ steps: 120 })]);
  const bad = await world.draw({ prompt: 'HANG', seed: 2 });
  // A quarter of the configured limit, the least for a lane with measured steps.
  expect((await worker.logged('engine died')).exit).toMatchObject({ hung: true, limitMs: 4000 });
  expect(await world.reached(bad)).toMatchObject({ state: 'failed', error: { code: 'engine-crashed' } });
});

test('A working engine is not killed as hung when its parent was frozen', { tags: ['long'] }, async () => {
  const world = await workerWorld(server.url);
  const worker = await world.simulated({ latency: SLOW, silenceMs: 800 });
  const id = await world.draw({ steps: 300 });
  await hasProgress(world, id);
  worker.signal('SIGSTOP');
  const thaw = `${world.keys.prefix}:thaw`;
  await world.redis.set(thaw, '', 'PX', 1500);
  await vi.waitFor(async () => expect(await world.redis.exists(thaw)).toBe(0), SLOW_MACHINE);
  worker.signal('SIGCONT');
  expect(await world.records.read(id)).toMatchObject({ state: 'running' });
  await expectAllDone(world, [id]);
  expect(worker.lines.map(({ msg }) => msg)).not.toContain('engine died');
});

test('After kill -9 of a whole worker another worker runs its jobs once the leases have expired', async () => {
  const world = await workerWorld(server.url);
  const first = await world.simulated({ latency: SLOW, ...SHORT_LEASES });
  const ids = await draws(world, 6, 400);
  await running(world, ids[5]);
  first.signal('SIGKILL');
  await first.exited();
  await world.simulated(RESCUER);
  await expectAllDone(world, ids);
  expect(await world.records.read(ids[0])).toMatchObject({ attempt: 2 });
});

test('A worker that was frozen past its leases publishes nothing for jobs that another worker has run', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  const frozen = await world.simulated({ latency: SLOW, ...SHORT_LEASES });
  const ids = await draws(world, 4, 60);
  await running(world, ids[3]);
  frozen.signal('SIGSTOP');
  await world.simulated(RESCUER);
  for (const id of ids) await world.reached(id, 'succeeded');
  const winners = await Promise.all(ids.map((id) => world.records.read(id)));
  frozen.signal('SIGCONT');
  await frozen.line(({ msg }) => msg === 'lease lost' || msg.includes('this result is dropped'));
  await frozen.stop();
  expect(await Promise.all(ids.map((id) => world.records.read(id)))).toEqual(winners);
  await expectAllDone(world, ids);
});

test('On SIGTERM a worker finishes short jobs, hands long ones back without counting an attempt, and exits', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  const worker = await world.simulated({ latency: SLOW, drainMs: 6000 });
  const [short, long] = [await world.draw({ steps: 30 }), await world.draw({ steps: 600 })];
  await running(world, short);
  await running(world, long);
  worker.signal('SIGTERM');
  await worker.logged('draining');
  const late = await world.draw({ steps: 4 });
  expect(await worker.exited()).toBe(0);
  expect(await world.records.read(short)).toMatchObject({ state: 'succeeded' });
  expect(await world.records.read(long)).toMatchObject({ state: 'queued', attempt: 0 });
  expect(await world.records.read(late)).toMatchObject({ state: 'queued', attempt: 0 });
  await world.simulated();
  await expectAllDone(world, [short, long, late]);
});

test('A running job is cancelled within about a step, without an effect on another job of its batch', async () => {
  const world = await workerWorld(server.url);
  // Only the announcement can reach it in time: a progress write would also report the cancel, but much later.
  await world.simulated({ latency: SLOW, times: { followCheckEveryMs: 600_000 } });
  const [victim, other] = [await world.draw({ steps: 900 }), await world.draw({ steps: 30 })];
  await running(world, victim);
  const requestedAt = await redisNow(world.redis);
  expect(await world.records.apply([{ move: 'cancel', id: victim }])).toMatchObject([{ code: 'requested' }]);
  const canceled = await world.reached(victim);
  expect(canceled).toMatchObject({ state: 'canceled' });
  expect('finished_at' in canceled && canceled.finished_at - requestedAt).toBeLessThan(1500);
  await expectAllDone(world, [other]);
});

test('A running job stops at its deadline and expires', { tags: ['long'] }, async () => {
  const world = await workerWorld(server.url);
  await world.simulated({ latency: SLOW });
  const id = await world.draw({ steps: 900 }, { deadline_at: Date.now() + 5000 });
  expect(await world.reached(id)).toMatchObject({ state: 'expired' });
  const types = (await world.records.events(id, 0)).map(({ type }) => type);
  expect(types).toContain('job.started');
  expect(types.at(-1)).toBe('job.expired');
});

test('A job that runs longer than a worker allows fails, and another job of its batch finishes', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  await world.simulated({ latency: SLOW, times: { maxRunMs: 8000 } });
  const [long, short] = [await world.draw({ steps: 900 }), await world.draw({ steps: 4 })];
  expect(await world.reached(long)).toMatchObject({
    state: 'failed',
    attempt: 1,
    error: { code: 'run-too-long', retryable: false },
  });
  await expectAllDone(world, [short]);
});

test('A job that was started six times fails at its next claim', async () => {
  const world = await workerWorld(server.url);
  const id = await world.draw();
  await world.redis.hset(world.keys.record(id), 'attempt', '6');
  await world.simulated();
  expect(await world.reached(id)).toMatchObject({ state: 'failed', error: { code: 'attempts-exhausted' } });
});

test('While the store is unavailable finished pictures are kept and no further job is claimed', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  const worker = await world.simulated({ latency: SLOW });
  await expectAllDone(world, [await world.draw()]);
  const objects = join(world.home, 'objects');
  await rename(objects, `${objects}-away`);
  await writeFile(objects, 'not a folder');

  const kept = await world.draw({ steps: 4 });
  await worker.logged('output could not be stored; retrying');
  const late = await world.draw({ steps: 4, seed: 2 });
  await worker.line(
    ({ msg, retryInMs }) => msg === 'output could not be stored; retrying' && Number(retryInMs) >= 800,
  );
  expect(await world.records.read(late)).toMatchObject({ state: 'queued' });
  await rm(objects);
  await rename(`${objects}-away`, objects);

  expect(await world.reached(kept)).toMatchObject({ state: 'succeeded', attempt: 1 });
  expect(await world.reached(late)).toMatchObject({ state: 'succeeded', attempt: 1 });
  const started = worker.lines.filter(({ msg, job }) => msg === 'job started' && job === kept);
  expect(started).toHaveLength(1);
});

test('A store that stays unavailable fails no job: finished jobs go back to the queue until it is back', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  const worker = await world.simulated({ latency: SLOW, times: { storeRetryMs: 300 } });
  await expectAllDone(world, [await world.draw()]);
  const objects = join(world.home, 'objects');
  await rename(objects, `${objects}-away`);
  await writeFile(objects, 'not a folder');
  const ids = await draws(world, 6, 4);
  await worker.logged('the store takes no writes; no job is claimed until it does');
  for (const id of ids) expect(await world.reached(id, 'queued')).toMatchObject({ attempt: 0 });
  await rm(objects);
  await rename(`${objects}-away`, objects);
  await worker.logged('the store takes writes again');
  for (const id of ids) {
    expect(await world.reached(id)).toMatchObject({ state: 'succeeded', attempt: 1 });
  }
});

test('A job whose own output cannot be stored fails with a retryable error while the store works', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  await world.simulated({ latency: SLOW, times: { storeRetryMs: 300 } });
  await expectAllDone(world, [await world.draw()]);
  const id = newJobId();
  // A file where the folder of the job's outputs should be.
  const folder = placeOf(`out/default/${id}`);
  await writeFile(join(world.home, 'objects', folder), '');
  await world.draw({ steps: 4 }, { id });
  expect(await world.reached(id)).toMatchObject({
    state: 'failed',
    error: { code: 'storage-failed', retryable: true },
  });
  expect(await world.reached(await world.draw({ seed: 3 }))).toMatchObject({ state: 'succeeded' });
});
