/** What the programs of Lehr's side share: its queues and records on the Redis of the first argument. */
import { GroupQueues } from '../../../packages/shared/src/queue/index.ts';
import { RecordStore } from '../../../packages/shared/src/records/index.ts';
import { keysOf, openRedis } from '../../../packages/shared/src/redis/index.ts';

export const MODEL = 'bench@1';
export const GROUP = `diffusion.${MODEL}.512x512`;

export async function openLehr() {
  const url = process.argv[2];
  const keys = keysOf('peers');
  const redis = openRedis(url, 'worker');
  const queues = await GroupQueues.open(redis, keys, { leaseMs: 60_000, stalledCheckMs: 30_000 });
  const records = new RecordStore(redis, keys, { retentionMs: 3_600_000 });
  return { url, keys, redis, queues, records };
}
