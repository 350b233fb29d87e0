/** Adds jobs to a plain BullMQ queue and waits for their results, as BullMQ's documentation does it: with QueueEvents. */
import { Queue, QueueEvents } from 'bullmq';
import { connectionOf, QUEUE } from './bullmq-queue.ts';
import { inParallel, serveOrders } from './program.ts';

const queue = new Queue(QUEUE, { connection: connectionOf(process.argv[2]) });
const events = new QueueEvents(QUEUE, { connection: connectionOf(process.argv[2]) });
// Each waiting job has listeners on both.
events.setMaxListeners(0);
queue.setMaxListeners(0);
await Promise.all([queue.waitUntilReady(), events.waitUntilReady()]);

serveOrders(async (jobs) => {
  const ends: Promise<unknown>[] = [];
  await inParallel(jobs, 64, async () => {
    const data = {
      prompt: 'a lighthouse on a rock in the evening',
      width: 512,
      height: 512,
      steps: 20,
      n: 1,
    };
    const job = await queue.add('text-to-image', data, { removeOnComplete: { age: 3600, count: 1000 } });
    ends.push(job.waitUntilFinished(events));
  });
  await Promise.all(ends);
});
