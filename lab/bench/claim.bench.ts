/** How long a worker waits between two steps to claim and start eight jobs of one group. */
import { newWorkerId } from '../../packages/shared/src/index.ts';
import { AttemptStore, GroupQueues } from '../../packages/shared/src/queue/index.ts';
import { type NewJob, RecordStore } from '../../packages/shared/src/records/index.ts';
import { keysOf, openRedis } from '../../packages/shared/src/redis/index.ts';
import { FSYNC_EVERY_SECOND, startRedis } from '../../test/support/redis-server.ts';
import { benchJob, GROUP } from './bench-job.ts';
import type { SampledFigure } from './harness.ts';

const CLAIMED = 8;
const SAMPLES = 2000;

const newBenchJob = (): NewJob => ({
  ...benchJob(),
  input: { prompt: 'a lighthouse on a rock in the evening' },
  deadline_at: undefined,
});

export const figures: readonly SampledFigure[] = [
  {
    kind: 'sampled',
    name: `claim of ${CLAIMED} jobs, p99`,
    unit: 'ms',
    percentile: 99,
    target: { atMost: 2 },
    open: async () => {
      const server = await startRedis(FSYNC_EVERY_SECOND);
      const keys = keysOf('bench');
      const commands = openRedis(server.url, 'worker');
      const queues = await GroupQueues.open(commands, keys);
      const records = new RecordStore(commands, keys, { retentionMs: 60_000 });
      const worker = newWorkerId('bench');
      const store = new AttemptStore({ redis: commands, keys, records, worker, leaseMs: queues.leaseMs });
      const queue = queues.of(GROUP);
      return {
        samples: async () => {
          const taken: number[] = [];
          for (let i = 0; i < SAMPLES; i++) {
            const jobs = Array.from({ length: CLAIMED }, newBenchJob);
            await Promise.all(jobs.map((job) => records.create(job, () => queue.add(job, 1))));
            const startedAt = performance.now();
            const started = await store.start(GROUP, CLAIMED);
            taken.push(performance.now() - startedAt);
            if (started.length !== CLAIMED) throw new Error(`claimed ${started.length} of ${CLAIMED}`);
            await Promise.all(
              started.map(({ claim }) =>
                store.end(claim, { move: 'succeed', id: claim.jobId, lease: claim.token }),
              ),
            );
          }
          return taken;
        },
        close: async () => {
          commands.disconnect();
          await server.stop();
        },
      };
    },
  },
];
