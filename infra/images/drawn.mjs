/** Starts API and worker from their images, beside a real Redis, and looks at what a container's engine would look at. */
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { anyFreePort } from '../local/ports.mjs';
import { allReady, drawFirstPicture } from '../local/self-check.mjs';
import { Container } from './container.mjs';

const HOST = '127.0.0.1';
/** More steps than a worker can do before it is stopped. */
const LONG = { prompt: 'a red circle on a blue background', steps: 100, width: 512, height: 512 };

/**
 * Resolves to what was seen, as lines. Throws at the first thing that a container may not do or must do.
 * `api` and `worker`: root and config of the images. `device`: LEHR_DEVICE of the worker.
 */
export async function drawn({ root, folder, api, worker, device, say }) {
  const home = join(folder, 'home');
  mkdirSync(home, { recursive: true });
  // Both use one folder as the store, so they run as one user: that of the worker's image.
  const user = worker.config.User;
  chownSync(home, ...user.split(':').map(Number));
  const redis = await startRedis(root, folder);
  const containers = [];
  try {
    const ports = { api: await anyFreePort(HOST), worker: await anyFreePort(HOST) };
    const url = `http://${HOST}:${ports.api}`;
    const key = randomBytes(24).toString('hex');
    const shared = { LEHR_HOST: HOST, LEHR_REDIS_URL: redis.url, LEHR_LOG_LEVEL: 'info' };
    const secrets = { LEHR_API_KEY: key, LEHR_PORT: ports.api, LEHR_PUBLIC_URL: url };
    const first = new Container({ ...api, home, user, env: { ...shared, ...secrets } });
    const second = new Container({
      ...worker,
      home,
      user,
      env: { ...shared, LEHR_WORKER_PORT: ports.worker, LEHR_DEVICE: device },
    });
    containers.push(first.start(), second.start());
    const ended = Promise.race(containers.map(async (each) => Promise.reject(new Error(await endOf(each)))));
    const { signal } = new AbortController();
    const ready = [`${url}/readyz`, `http://${HOST}:${ports.worker}/readyz`];
    await Promise.race([
      ended,
      allReady(ready, { signal, onSlow: (at, why) => say(`  waiting for ${at}: ${why}`) }),
    ]);
    const lines = [];
    for (const [name, each] of [
      ['api', first],
      ['worker', second],
    ])
      lines.push(...(await confined(name, each, user)));
    const path = join(folder, 'picture.png');
    lines.push(await Promise.race([ended, drawFirstPicture({ url, key, path, signal })]));
    ended.catch(() => {});
    lines.push(await drains({ url, key, worker: second }));
    const code = await first.stop();
    if (code !== 0) throw new Error(`the API ended with ${code} on SIGTERM:\n${first.output.slice(-2000)}`);
    lines.push('api: ended with 0 on SIGTERM');
    return lines;
  } finally {
    for (const each of containers) each.kill();
    redis.child.kill('SIGTERM');
    await once(redis.child, 'close').catch(() => {});
  }
}

async function endOf(container) {
  const code = await container.over;
  return `a program ended with ${code} before its time:\n${container.output.slice(-3000)}`;
}

/** The user, the read-only root, the writable folders and the health check, each tried. */
async function confined(name, container, user) {
  const tried = await container.run([
    'sh',
    '-c',
    'id -u; id -g; touch /lehr/x 2>/dev/null && echo root-writable; touch /tmp/x && echo tmp; touch /var/lib/lehr/x && echo home; grep -c "^Cap...:.0*$" /proc/self/status; grep NoNewPrivs /proc/self/status',
  ]);
  const wanted = `${user.replace(':', '\n')}\ntmp\nhome\n5\nNoNewPrivs:\t1\n`;
  if (tried.output !== wanted) throw new Error(`${name}: not confined as it should be:\n${tried.output}`);
  const health = await container.health();
  if (health.code !== 0)
    throw new Error(`${name}: the health check ended with ${health.code}:\n${health.output}`);
  return [`${name}: user ${user}, read-only root, no capabilities, health check passed`];
}

/** SIGTERM while a job runs: the worker ends with 0, and the job is done or waits for another worker. */
async function drains({ url, key, worker }) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ type: 'text-to-image', input: LONG });
  const made = await fetch(`${url}/v1/jobs`, { method: 'POST', headers, body });
  if (!made.ok) throw new Error(`the long job was refused: ${await made.text()}`);
  const { id } = await made.json();
  const job = async () => (await fetch(`${url}/v1/jobs/${id}`, { headers })).json();
  let before = await job();
  while (before.status === 'queued') {
    await delay(50);
    before = await job();
  }
  const code = await worker.stop();
  const after = await job();
  if (code !== 0) throw new Error(`the worker ended with ${code} on SIGTERM:\n${worker.output.slice(-2000)}`);
  if (!['queued', 'succeeded'].includes(after.status))
    throw new Error(`after the drain the job is ${after.status}`);
  return `worker: ended with 0 on SIGTERM; its job was ${before.status} before and is ${after.status} now`;
}

async function startRedis(root, folder) {
  const port = await anyFreePort(HOST);
  const password = randomBytes(16).toString('hex');
  const rules = readFileSync(join(root, 'infra/redis.conf'), 'utf8');
  const own = `bind ${HOST}\nport ${port}\nrequirepass ${password}\ndir ${JSON.stringify(folder)}\n`;
  const child = spawn('redis-server', ['-'], { stdio: ['pipe', 'ignore', 'inherit'] });
  child.stdin.end(`${rules}\n${own}`);
  const answers = () => {
    try {
      const env = { ...process.env, REDISCLI_AUTH: password };
      return execFileSync('redis-cli', ['-p', port, 'ping'], {
        encoding: 'utf8',
        env,
        stdio: 'pipe',
      }).includes('PONG');
    } catch {
      return false;
    }
  };
  while (!answers()) {
    if (child.exitCode !== null) throw new Error('redis-server did not start');
    await delay(50);
  }
  return { child, url: `redis://default:${password}@${HOST}:${port}` };
}
