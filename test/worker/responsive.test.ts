import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { workerWorld } from '../support/worker-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const STEP_MS = 400;
const STEPS = 100;
/** A third of the run: none can be held to its end without being renewed, and a busy machine does not stop a worker for so long. */
const LEASE_MS = 13_000;
const ALLOWED_MS = 50;

test('With steps of 400 ms the event loop of the worker never computes for 50 ms and no lease is lost in three of them', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  const latency = { stepBaseMs: STEP_MS, stepPerRowMs: 0, pictureMs: 20, textMs: 10 };
  const times = { renewEveryMs: 1000 };
  // With several threads, the garbage collector blocks the main thread until each of them gets a core. On a busy machine that
  // takes long, and the kernel does not count it as waiting for a core.
  const nodeFlags = ['--single-threaded-gc'];
  const worker = await world.simulated({ latency, leaseMs: LEASE_MS, times, nodeFlags });
  const ids = await Promise.all([1, 2, 3, 4, 5, 6].map((seed) => world.draw({ seed, steps: STEPS })));
  for (const id of ids) {
    await vi.waitFor(async () => expect((await world.records.read(id))?.state).toBe('succeeded'), {
      timeout: 200_000,
      interval: 500,
    });
  }
  worker.signal('SIGUSR2');
  const measured = await worker.logged('measured');
  expect(measured).toMatchObject({ leasesLost: 0, restarts: 0 });
  expect(measured.maxDelayMs).toBeLessThan(ALLOWED_MS);
  const record = await world.records.read(ids[0]);
  expect(record?.state === 'succeeded' && record.metrics.run_ms).toBeGreaterThan(3 * LEASE_MS);
});
