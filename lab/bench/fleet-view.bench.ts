/** What a POST asks of a large fleet: the price of its job, the backlog and the workers that serve it. */
import { Backlog } from '../../apps/api/src/fleet/backlog.ts';
import { FleetView, ModelSharesView } from '../../apps/api/src/fleet/fleet-view.ts';
import { priceOf } from '../../apps/api/src/jobs/price.ts';
import { groupOf } from '../../apps/api/src/jobs/resolve.ts';
import {
  systemClock as clock,
  groupQueueName,
  newWorkerId,
  reportWorker,
  type TextToImageInput,
  type WorkerStatus,
} from '../../packages/shared/src/index.ts';
import { GroupQueues } from '../../packages/shared/src/queue/index.ts';
import { keysOf, openRedis } from '../../packages/shared/src/redis/index.ts';
import { startRedis } from '../../test/support/redis-server.ts';
import type { SampledFigure } from './harness.ts';

const WORKERS = 1000;
const GROUPS = 1000;
const MODELS = ['a@1', 'b@1', 'c@1'];
const VIEWS = 3000;
const PAUSE_MS = 1;
/** Widths in steps of 8, as callers choose them. */
const widthOf = (i: number): number => 64 + 8 * (i % GROUPS);

const statusOf = (i: number): WorkerStatus => ({
  id: newWorkerId('bench'),
  started_at: 0,
  tasks: ['diffusion'],
  draining: false,
  models: MODELS.map((ref) => ({ ref, batching: 'step', providers: { unet: 'cuda' } })),
  unavailable: [],
  jobs: 12,
  lanes: MODELS.map((ref) => ({
    queue: `diffusion.${ref}.512x${widthOf(i)}`,
    rows: 8,
    row_cap: 16,
    samples: 4,
    paused: 0,
    left_ms: { interactive: 0, standard: 5000, bulk: 0 },
    row_steps_per_s: 15,
  })),
});

async function openViews() {
  const server = await startRedis(['--appendonly', 'no']);
  const keys = keysOf('bench');
  const redis = openRedis(server.url, 'api');
  const queues = await GroupQueues.open(redis, keys);
  const statuses = Array.from({ length: WORKERS }, (_, i) => statusOf(i));
  const report = (): Promise<unknown> =>
    Promise.all(statuses.map((status) => reportWorker(redis, keys, status)));
  await report();
  // Their reports expire after ten seconds.
  const reporting = setInterval(() => void report(), 4000);
  for (let i = 0; i < GROUPS; i++) {
    const queue = `diffusion.${MODELS[i % MODELS.length]}.512x${widthOf(i)}`;
    await redis.sadd(keys.groups, queue);
    await redis.hset(keys.load(queue), 'standard', 5000);
  }
  const fleet = new FleetView(redis, keys, queues, clock);
  const backlog = new Backlog(redis, keys, fleet, { recent: async () => [] }, clock);
  const shares = new ModelSharesView(fleet);
  const view = async (i: number): Promise<void> => {
    const workers = await fleet.workers();
    const input = { width: 512, height: widthOf(i), steps: 20, guidance: 7, n: 1 } as TextToImageInput;
    const [name, version] = MODELS[i % MODELS.length].split('@');
    const group = groupOf(input, { name, version }, workers);
    priceOf(input, group, workers);
    await backlog.ahead(groupQueueName(group), `${name}@${version}`, 'standard');
    await shares.of(`${name}@${version}`);
  };
  const close = async (): Promise<void> => {
    clearInterval(reporting);
    redis.disconnect();
    await server.stop();
  };
  return { view, close };
}

export const figures: readonly SampledFigure[] = [50, 99].map((percentile) => ({
  kind: 'sampled',
  name: `price, backlog and fleet of a POST, ${WORKERS} workers and groups, p${percentile}`,
  unit: 'ms',
  percentile,
  target: { atMost: 0.1 },
  open: async () => {
    const { view, close } = await openViews();
    return {
      samples: async () => {
        await view(0);
        const taken: number[] = [];
        for (let i = 0; i < VIEWS; i++) {
          const startedAt = performance.now();
          await view(i);
          taken.push(performance.now() - startedAt);
          await clock.sleep(PAUSE_MS);
        }
        return taken;
      },
      close,
    };
  },
}));
