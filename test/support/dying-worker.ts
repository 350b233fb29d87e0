/** A program that ends a job like a worker and kills itself immediately after. */
import { type JobId, newLeaseToken, newWorkerId } from '../../packages/shared/src/index.ts';
import { RecordStore } from '../../packages/shared/src/records/index.ts';
import { keysOf, openRedis, redisReady } from '../../packages/shared/src/redis/index.ts';

const [, , redisUrl, namespace, id] = process.argv;
const redis = openRedis(redisUrl, 'worker');
await redisReady(redis);
const records = new RecordStore(redis, keysOf(namespace), { retentionMs: 60_000 });
const worker = newWorkerId('dying');
const lease = newLeaseToken(worker);
const error = { code: 'numeric-error', title: 'Bad numbers', detail: 'NaN', retryable: false };
await records.apply([
  { move: 'start', id: id as JobId, lease, fields: { worker } },
  { move: 'fail', id: id as JobId, lease, fields: { error } },
]);
process.kill(process.pid, 'SIGKILL');
