/** Lehr in the containers of compose.yaml, as its callers see it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Received } from '../../test/support/webhook-receiver.ts';
import { delivery, type Scene as SceneOfJobs, sceneOn } from '../scene.ts';
import { compose, containersOf, secrets } from './compose.ts';

export const API = 'http://127.0.0.1:8080';
export const READY = 'http://127.0.0.1:9465/readyz';
const S3 = 'http://127.0.0.1:8333';
export const HOOK = 'http://receiver:8000/hook';

export interface Scene extends SceneOfJobs {
  /** Reads what the receiver of webhooks has printed and prints. */
  follow(): Promise<void>;
}

const received: Received[] = [];
let follower: ChildProcess | undefined;

export async function newScene(): Promise<Scene> {
  const { LEHR_API_KEY, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, REDIS_OPERATOR_PASSWORD } = secrets();
  const login = ['--user', 'operator', '--pass', REDIS_OPERATOR_PASSWORD, '--no-auth-warning'];
  const scene = await sceneOn({
    api: API,
    key: LEHR_API_KEY,
    s3: { endpoint: S3, id: AWS_ACCESS_KEY_ID, secret: AWS_SECRET_ACCESS_KEY },
    hook: HOOK,
    received,
    redisKeys: async () =>
      (await compose('exec', '-T', 'redis', 'redis-cli', ...login, '--scan')).split('\n').filter(Boolean),
  });
  return {
    ...scene,
    follow,
    slowJobs: async (...args) => {
      await follow();
      return scene.slowJobs(...args);
    },
    running: async (count) => {
      await follow();
      return scene.running(count);
    },
    judged: async () => {
      await follow();
      return scene.judged();
    },
  };
}

/** Reads what the receiver prints, again after every restart of its container. */
async function follow(): Promise<void> {
  if (follower && follower.exitCode === null) return;
  const [container] = await containersOf('receiver');
  if (container === undefined) return;
  follower = spawn('/usr/bin/docker', ['logs', '--follow', container], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (follower.stdout)
    createInterface(follower.stdout).on('line', (line) => {
      const { headers, body } = JSON.parse(line);
      received.push(delivery(headers, body));
    });
}

export const endFollowing = (): void => void follower?.kill();
