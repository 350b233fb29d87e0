/** Jobs that are claimed at the moment at which the engine dies, or closes their model. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Attempts } from '../../apps/worker/src/parent/intake/attempts.ts';
import { LehrError, newLeaseToken, silentLog, systemClock } from '../../packages/shared/src/index.ts';
import { apiWorld } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

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
  const claim = await queue.claim(newLeaseToken(world.worker.id));
  if (!claim) throw new Error('no job was claimed');
  const held = new Set([claim.jobId]);
  const attempts = new Attempts({
    worker: world.worker.id,
    queues,
    records,
    workflows,
    leases: { add: () => {}, remove: () => held.delete(claim.jobId) } as never,
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
  await attempts.start([claim]);
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
