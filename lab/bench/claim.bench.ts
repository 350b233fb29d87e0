/** How long a worker waits between two steps to claim eight jobs of one group. */
import { newJobId, newWorkerId } from '../../packages/shared/src/index.ts';
import { Claimer, GroupQueues } from '../../packages/shared/src/queue/index.ts';
import { keysOf, openRedis } from '../../packages/shared/src/redis/index.ts';
import { FSYNC_EVERY_SECOND, startRedis } from '../../test/support/redis-server.ts';
import type { SampledFigure } from './harness.ts';

const GROUP = 'diffusion.bench@1.512x512';
const CLAIMED = 8;
const SAMPLES = 2000;

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
      const [commands, blocking] = [openRedis(server.url, 'worker'), openRedis(server.url, 'blocking')];
      const queues = await GroupQueues.open(commands, keys);
      const claimer = new Claimer({ commands, blocking, keys, queues, worker: newWorkerId('bench') });
      const queue = queues.of(GROUP);
      return {
        samples: async () => {
          const taken: number[] = [];
          for (let i = 0; i < SAMPLES; i++) {
            const jobs = Array.from({ length: CLAIMED }, () => ({
              id: newJobId(),
              type: 'bench',
              model: 'b@1',
              tenant: 't',
            }));
            await Promise.all(jobs.map((job) => queue.add(job, 1)));
            const startedAt = performance.now();
            const claims = await claimer.claim(GROUP, CLAIMED);
            taken.push(performance.now() - startedAt);
            if (claims.length !== CLAIMED) throw new Error(`claimed ${claims.length} of ${CLAIMED}`);
            await Promise.all(claims.map((claim) => queue.complete(claim)));
          }
          return taken;
        },
        close: async () => {
          for (const redis of [commands, blocking]) redis.disconnect();
          await server.stop();
        },
      };
    },
  },
];
