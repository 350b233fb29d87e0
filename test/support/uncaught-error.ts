/** A program that nothing catches an error of ioredis in, like Lehr's own programs with their log. */
import { createLog, logUncaught } from '../../packages/shared/src/index.ts';
import { openRedis, redisReady } from '../../packages/shared/src/redis/index.ts';

const [, , redisUrl, prompt] = process.argv;
logUncaught(createLog('test', 'info'));
const redis = openRedis(redisUrl, 'worker');
await redisReady(redis);
await redis.set('text', 'no list');
void redis.lpush('text', prompt);
