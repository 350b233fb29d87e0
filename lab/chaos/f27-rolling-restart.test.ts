import { expect } from 'vitest';
import { newJobId, newWorkerId } from '../../packages/shared/src/index.ts';
import { keysOf } from '../../packages/shared/src/redis/index.ts';
import { chaosWorld, QUICK_STEPS } from './chaos-world.ts';
import { expectKept, faultRow } from './fault-row.ts';
import { judge } from './invariants.ts';
import { startLoad } from './recorded-client.ts';
import { testConnection } from './redis-admin.ts';

const RESTARTS = 3;
const CALLERS = 4;
/** Jobs that must have been accepted between two restarts. */
const JOBS_BETWEEN = 20;

faultRow(
  {
    row: 'F27',
    injected: `API and worker are restarted ${RESTARTS} times under load, beside a worker report and waiting records of a newer version`,
    promised:
      'Versions can be mixed on one Redis: what a process cannot read is left alone, and no job fails for it.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, history, webhook } = world;
    const redis = await testConnection(world.redis.url);
    const keys = keysOf(world.namespace);
    const plantNewer = async (): Promise<void> => {
      const worker = newWorkerId('newer');
      const report = {
        v: 99,
        id: worker,
        started_at: 0,
        tasks: ['video'],
        draining: false,
        models: 7,
        lanes: {},
      };
      await redis.set(keys.worker(worker), JSON.stringify(report), 'PX', 10_000);
      await redis.sadd(keys.workers, worker);
      const id = newJobId();
      await redis.hset(keys.record(id), {
        v: 99,
        id,
        state: 'queued',
        rev: 1,
        tenant: 'default',
        shape: 'new',
      });
      await redis.zadd(keys.live, 1, id);
    };
    await plantNewer();
    let worker = await world.worker({ latency: QUICK_STEPS });
    const load = startLoad(client, CALLERS, 50, () => ({ webhook }));
    for (let i = 0; i < RESTARTS; i++) {
      const wanted = history.accepted.length + JOBS_BETWEEN;
      await expect.poll(() => history.accepted.length, { timeout: 120_000 }).toBeGreaterThan(wanted);
      await plantNewer();
      const next = await world.worker({ latency: QUICK_STEPS });
      await worker.stop();
      worker = next;
      await world.api.stop();
      await world.startApi();
    }
    await load.stop();
    const verdict = await judge(world);
    expectKept(verdict);
    expect(verdict.accepted - verdict.succeeded, 'jobs that did not succeed').toBe(0);
    return {
      seen: `${verdict.accepted} jobs were accepted and succeeded, ${verdict.repeatedAttempts} in a second attempt`,
      figures: { 'failed jobs': verdict.accepted - verdict.succeeded },
    };
  },
);
