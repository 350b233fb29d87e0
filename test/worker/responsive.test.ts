import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { measureOwnDelay } from '../support/own-delay.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { workerWorld } from '../support/worker-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const STEP_MS = 400;
const ALLOWED_MS = 50;

test('With steps of 400 ms the event loop of the worker is never blocked for 50 ms and no lease is lost in two minutes', {
  timeout: 240_000,
}, async () => {
  const world = await workerWorld(server.url);
  const latency = { stepBaseMs: STEP_MS, stepPerRowMs: 0, pictureMs: 20, textMs: 10 };
  const times = { renewEveryMs: 1000 };
  // With several threads, the garbage collector blocks the main thread until each of them gets a core. On a busy machine that
  // takes long, and the kernel does not count it as waiting for a core.
  const nodeFlags = ['--single-threaded-gc'];
  const worker = await world.simulated({ latency, leaseMs: 5000, times, nodeFlags });
  // This process is idle: its delays are caused by the machine, and are not counted against the worker.
  const longestIdleMs = measureOwnDelay();
  const ids = await Promise.all([1, 2, 3, 4, 5, 6].map((seed) => world.draw({ seed, steps: 290 })));
  for (const id of ids) {
    await vi.waitFor(async () => expect((await world.records.read(id))?.state).toBe('succeeded'), {
      timeout: 200_000,
      interval: 500,
    });
  }
  worker.signal('SIGUSR2');
  const measured = await worker.logged('measured');
  expect(measured).toMatchObject({ leasesLost: 0, restarts: 0 });
  expect(measured.maxDelayMs).toBeLessThan(longestIdleMs() + ALLOWED_MS);
  const record = await world.records.read(ids[0]);
  expect(record?.state === 'succeeded' && record.metrics.run_ms).toBeGreaterThan(110_000);
});
