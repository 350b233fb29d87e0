/**
 * Submits jobs as the API does for requests that it holds, without its HTTP: admission, record and queue entry. The ended record of each comes
 * as a message.
 */
import { randomUUID } from 'node:crypto';
import { type JobId, newJobId, type TenantId } from '../../../packages/shared/src/index.ts';
import { Admitter } from '../../../packages/shared/src/queue/index.ts';
import { type NewJob, parseEndedJob } from '../../../packages/shared/src/records/index.ts';
import { openRedis } from '../../../packages/shared/src/redis/index.ts';
import { GROUP, MODEL, openLehr } from './lehr-parts.ts';
import { inParallel, serveOrders } from './program.ts';

const { url, keys, redis, queues, records } = await openLehr();
const admitter = new Admitter(redis, keys);
const subscriber = openRedis(url, 'subscriber');
const holder = randomUUID();
const waiting = new Map<JobId, () => void>();

subscriber.on('message', (_channel: string, message: string) => {
  const { id, record } = parseEndedJob(message);
  // This ends the process, and with it the round.
  if (record?.state !== 'succeeded') throw new Error(`job ${id}: ${record?.state ?? 'no record came'}`);
  waiting.get(id)?.();
  waiting.delete(id);
});
await subscriber.subscribe(keys.ended(holder));

/** Resolves when the job is stored; `ended` resolves at its end. */
async function submit(): Promise<{ ended: Promise<void> }> {
  const id = newJobId();
  const request = {
    id,
    tenant: 'default' as TenantId,
    queue: GROUP,
    priority: 'standard',
    cost: 1200,
  } as const;
  const admission = await admitter.admit(request, {
    groups: [{ queue: GROUP, cost: request.cost, workers: 1, elsewhereMs: 0, elsewhereGroups: 0 }],
    maxGroups: 10_000,
    groupsWithinMs: 3_600_000,
    maxJobs: 1e6,
    maxWaitMs: 1e12,
  });
  if (admission.code !== 'admitted') throw new Error(`not admitted: ${admission.code}`);
  const job: NewJob = {
    ...request,
    type: 'text-to-image',
    model: MODEL,
    score: admission.score,
    fair_tag: admission.startTag,
    admitted_at: admission.now,
    input: { prompt: 'a lighthouse on a rock in the evening', width: 512, height: 512, steps: 20, n: 1 },
    metadata: {},
    deadline_at: undefined,
    held_by: holder,
  };
  // Before the job exists, so that its end cannot be missed.
  const ended = new Promise<void>((end) => waiting.set(id, end));
  await records.create(job, () => queues.of(GROUP).add(job, admission.score));
  return { ended };
}

serveOrders(async (jobs) => {
  const ends: Promise<void>[] = [];
  await inParallel(jobs, 64, async () => {
    ends.push((await submit()).ended);
  });
  await Promise.all(ends);
});
