/** Jobs that are claimed at the moment at which the engine dies, or closes their model. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Attempts } from '../../apps/worker/src/parent/intake/attempts.ts';
import {
  type JobId,
  LehrError,
  newLeaseToken,
  silentLog,
  systemClock,
} from '../../packages/shared/src/index.ts';
import { AttemptStore, type Lease } from '../../packages/shared/src/queue/index.ts';
import { apiWorld } from '../support/api-world.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** Claims a job and starts it on a runner that has not got its model open. */
async function startedWithoutModel({ isServed }: { readonly isServed: boolean }) {
  const world = await apiWorld(server.url);
  await world.worker.report();
  const { id } = await world.post();
  const { queues, records, workflows } = world.parts;
  const record = await records.read(id as never);
  const queue = queues.of(record?.queue ?? '');
  const held = new Set<JobId>();
  const store = new AttemptStore({
    redis: testRedis(server.url),
    keys: world.parts.keys,
    records,
    worker: world.worker.id,
    leaseMs: queues.leaseMs,
  });
  const attempts = new Attempts({
    worker: world.worker.id,
    queues,
    store,
    records,
    workflows,
    leases: {
      add: ({ jobId }: Lease) => held.add(jobId),
      remove: ({ jobId }: Lease) => held.delete(jobId),
    } as never,
    runner: {
      serves: () => isServed,
      stop: () => {},
      run: async () => {},
      newRun: () => {
        throw new LehrError('model-unavailable', 'not open');
      },
    },
    clock: systemClock,
    log: silentLog,
    maxRunMs: 60_000,
    finish: async () => undefined,
    onEnded: () => {},
    onEndedAtClaim: () => {},
  });
  expect(await attempts.claim(queue.name, 1)).toBe(1);
  const next = await queue.claim(newLeaseToken(world.worker.id));
  return { job: await world.get(id), held, next };
}

test('A job whose model was closed after it was claimed waits again, with its lease given back and no attempt spent', async () => {
  const { job, held, next } = await startedWithoutModel({ isServed: false });
  expect(job).toMatchObject({ status: 'queued', attempt: 0, error: null });
  expect(held.size).toBe(0);
  expect(next?.jobId).toBe(job.id);
});

test('A job that this worker serves and cannot run fails', async () => {
  const { job } = await startedWithoutModel({ isServed: true });
  expect(job).toMatchObject({ status: 'failed', error: { code: 'model-unavailable' } });
});
