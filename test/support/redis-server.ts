/**
 * A separate real Redis with its own port and folder, for tests and benches. It is started as it ships: by infra/redis/start.sh,
 * with infra/redis.conf and the users of infra/redis/users.acl, whose keys are those of any namespace here.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openRedis, redisReady } from '../../packages/shared/src/redis/index.ts';
import { freePort } from './ports.ts';

export type RedisUser = 'api' | 'worker' | 'operator';

export interface TestRedis {
  /** As the operator, for what a test does itself. `startLehr` and `startSimulatedWorker` sign in as the user of their program. */
  readonly url: string;
  readonly port: number;
  /** Of the process that runs now. */
  readonly pid: number;
  /** Where the server keeps its log. */
  readonly folder: string;
  /** Ends the process with SIGKILL, like a crash. */
  kill(): Promise<void>;
  /** Stops the process with SIGSTOP; `thaw` resumes it. */
  freeze(): void;
  thaw(): void;
  /** Starts again on the same port and folder, from its log. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Lehr's own Redis writes its log to disk like this, so benches use it too. */
export const FSYNC_EVERY_SECOND = ['--appendfsync', 'everysec'];

/** A busy machine starts a process late. */
const START_LIMIT_MS = 60_000;
/** Characters of the log in an error. */
const LOG_SHOWN = 2000;

const INFRA = fileURLToPath(new URL('../../infra/', import.meta.url));

/** Characters that a URL, a shell or sed could misread. */
const passwordOf = (user: RedisUser): string => `pass/&"$ of ${user}`;

/** `url` with another user if it is a test's own, which is the operator's; any other URL as it is. */
export function asUser(url: string, user: RedisUser): string {
  const changed = new URL(url);
  if (changed.username !== 'operator') return url;
  changed.username = user;
  changed.password = encodeURIComponent(passwordOf(user));
  return changed.href;
}

/** `host` is that of a server, a proxy or a name that Sentinels know. */
export const operatorUrl = (host: string): string =>
  `redis://operator:${encodeURIComponent(passwordOf('operator'))}@${host}`;

/** Arguments of a server that follows the one at `port`. */
export const replicaOf = (port: number): readonly string[] => [
  ...['--replicaof', `127.0.0.1 ${port}`, '--masteruser', 'operator', '--masterauth', passwordOf('operator')],
];

/** Lines for the configuration of a Sentinel that watches the master `name`. */
export const sentinelSignIn = (name: string): readonly string[] => [
  `sentinel auth-user ${name} operator`,
  `sentinel auth-pass ${name} ${JSON.stringify(passwordOf('operator'))}`,
];

export async function startRedis(extra: readonly string[] = []): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-redis-'));
  const port = await freePort();
  const [template, users, conf, log] = ['template.acl', 'users.acl', 'redis.conf', 'redis.log'].map((file) =>
    join(folder, file),
  );
  const shipped = await readFile(join(INFRA, 'redis/users.acl'), 'utf8');
  await writeFile(template, shipped.replaceAll('{lehr}', '{*}'));
  // A copy, because a Sentinel lets the server write its settings into the file.
  await copyFile(join(INFRA, 'redis.conf'), conf);
  const own = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--logfile', log];
  // The log is written before the reply, so a kill loses nothing, and never waits for a busy disk.
  const args = [...own, '--appendfsync', 'no', ...extra];
  const launch = async (): Promise<ChildProcess> => {
    const command = [join(INFRA, 'redis/start.sh'), template, users, conf, ...args];
    const child = spawn('sh', command, {
      stdio: 'ignore',
      env: {
        PATH: process.env.PATH,
        REDIS_API_PASSWORD: passwordOf('api'),
        REDIS_WORKER_PASSWORD: passwordOf('worker'),
        REDIS_OPERATOR_PASSWORD: passwordOf('operator'),
      },
    });
    child.on('error', () => {});
    const probe = openRedis(operatorUrl(`127.0.0.1:${port}`), 'worker', 'probe');
    try {
      await redisReady(probe, START_LIMIT_MS);
    } catch (cause) {
      const lines = await readFile(log, 'utf8').catch(() => 'no log');
      throw new Error(`redis-server did not start: ${lines.slice(-LOG_SHOWN)}`, { cause });
    } finally {
      probe.disconnect();
    }
    return child;
  };
  let child = await launch();
  const ended = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await exit;
  };
  return {
    url: operatorUrl(`127.0.0.1:${port}`),
    port,
    get pid() {
      return child.pid ?? 0;
    },
    folder,
    kill: () => ended('SIGKILL'),
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
    restart: async () => {
      await ended('SIGKILL');
      child = await launch();
    },
    // Not SIGTERM: a server that writes the first log of a new role refuses to end, and does not try again.
    stop: async () => {
      await ended('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}
