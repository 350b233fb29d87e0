/** A plain BullMQ worker whose jobs do nothing. */
import { Worker } from 'bullmq';
import { connectionOf, QUEUE } from './bullmq-queue.ts';

const worker = new Worker(QUEUE, async () => ({ images: [] }), {
  connection: connectionOf(process.argv[2]),
  concurrency: 64,
});
await worker.waitUntilReady();
process.send?.('ready');
