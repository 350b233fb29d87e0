/** Claims jobs under leases, starts and ends their records and closes them, as a worker does, with an engine that does nothing. */
import { newWorkerId } from '../../../packages/shared/src/index.ts';
import { type Claim, Claimer } from '../../../packages/shared/src/queue/index.ts';
import { openRedis } from '../../../packages/shared/src/redis/index.ts';
import { GROUP, MODEL, openLehr } from './lehr-parts.ts';

const AT_ONCE = 64;
const { url, keys, redis, queues, records } = await openLehr();
const worker = newWorkerId('peers');
const blocking = openRedis(url, 'blocking');
const claimer = new Claimer({ commands: redis, blocking, keys, queues, worker });
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

async function end({ jobId: id, token: lease }: Claim): Promise<void> {
  const [{ code }] = await records.apply([{ move: 'succeed', id, lease, fields }]);
  if (code !== 'ok') throw new Error(`the end of ${id} was refused: ${code}`);
}

/** Jobs that are claimed and not closed. */
let open = 0;
let freed = (): void => {};

async function run(claims: readonly Claim[]): Promise<void> {
  open += claims.length;
  await records.apply(
    claims.map(({ jobId, token }) => ({ move: 'start', id: jobId, lease: token, fields: { worker } })),
  );
  await Promise.all(
    claims.map(async (claim) => {
      await end(claim);
      await queues.of(claim.queue).complete(claim);
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
  const claims = await claimer.claim(head.queue, Math.min(AT_ONCE - open, head.waiting));
  // The next jobs are claimed while these are started and ended. A failure ends this process, and with it the round.
  void run(claims);
  while (open >= AT_ONCE) {
    await new Promise<void>((resolve) => {
      freed = resolve;
    });
  }
}
