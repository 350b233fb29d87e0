/** A real Redis with the users of infra/redis/users.acl, started like the one in compose.yaml. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openRedis, type Redis, redisReady } from '../../packages/shared/src/redis/index.ts';
import { ROOT } from '../house/readme.ts';
import { freePort } from './ports.ts';
import { tempFolder } from './tiny-models.ts';

export type RedisUser = 'api' | 'worker' | 'operator';

export interface RedisWithUsers {
  readonly port: number;
  urlOf(user: RedisUser): string;
  /** A connection that closes at the end of the test. */
  connect(user: RedisUser): Promise<Redis>;
}

/** Characters that a URL, a shell or sed could misread. */
const passwordOf = (user: RedisUser): string => `pass/&"$ of ${user}`;

export async function redisWithUsers(): Promise<RedisWithUsers> {
  const folder = await tempFolder('redis');
  const port = await freePort();
  const infra = join(ROOT, 'infra');
  const args = [join(infra, 'redis/start.sh'), join(infra, 'redis/users.acl'), join(folder, 'users.acl')];
  const server = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder];
  const child = spawn('sh', [...args, join(infra, 'redis.conf'), ...server], {
    stdio: 'ignore',
    env: {
      PATH: process.env.PATH,
      REDIS_API_PASSWORD: passwordOf('api'),
      REDIS_WORKER_PASSWORD: passwordOf('worker'),
      REDIS_OPERATOR_PASSWORD: passwordOf('operator'),
    },
  });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  });
  const urlOf = (user: RedisUser): string =>
    `redis://${user}:${encodeURIComponent(passwordOf(user))}@127.0.0.1:${port}`;
  const connect = async (user: RedisUser): Promise<Redis> => {
    const redis = openRedis(urlOf(user), 'worker', `test-${user}`);
    onTestFinished(() => redis.disconnect());
    await redisReady(redis, 20_000);
    return redis;
  };
  await connect('operator');
  return { port, urlOf, connect };
}
