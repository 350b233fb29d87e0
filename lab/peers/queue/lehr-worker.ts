/** Claims jobs under leases, starts and ends them, as a worker does, with an engine that does nothing. */
import { newWorkerId } from '../../../packages/shared/src/index.ts';
import { AttemptStore, Claimer, type Started } from '../../../packages/shared/src/queue/index.ts';
import { openRedis } from '../../../packages/shared/src/redis/index.ts';
import { GROUP, MODEL, openLehr } from './lehr-parts.ts';

const AT_ONCE = 64;
const { url, keys, redis, queues, records } = await openLehr();
const worker = newWorkerId('peers');
const blocking = openRedis(url, 'blocking');
const claimer = new Claimer({ commands: redis, blocking, keys, queues, worker });
const store = new AttemptStore({ redis, keys, records, worker, leaseMs: queues.leaseMs });
const fields = {
  output: { images: [] },
  metrics: {
    queue_ms: 1,
    run_ms: 2,
    total_ms: 3,
    batch_size: null,
    worker,
    timings: { queued: 1, nodes: 2 },
  },
};

/** Jobs that are claimed and not closed. */
let open = 0;
let freed = (): void => {};

async function run(started: readonly Started[]): Promise<void> {
  open += started.length;
  await Promise.all(
    started.map(async ({ claim }) => {
      const { jobId: id, token: lease } = claim;
      const { code } = await store.end(claim, { move: 'succeed', id, lease, fields });
      if (code !== 'ok') throw new Error(`the end of ${id} was refused: ${code}`);
      open--;
      freed();
    }),
  );
}

process.send?.('ready');
for (;;) {
  const [head] = await claimer.findWork([MODEL]);
  if (!head) {
    await claimer.wait([GROUP]);
    continue;
  }
  const started = await store.start(head.queue, Math.min(AT_ONCE - open, head.waiting));
  // The next jobs are claimed while these are ended. A failure ends this process, and with it the round.
  void run(started);
  while (open >= AT_ONCE) {
    await new Promise<void>((resolve) => {
      freed = resolve;
    });
  }
}
