/**
 * The Redis of this installation: its data under LEHR_HOME/redis, its address and password in LEHR_HOME/redis-url (readable
 * only by its owner, like the key). It listens on the loopback with a password, because other users of this machine can
 * reach a loopback port too.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ROOT } from './command.mjs';
import { isFree } from './ports.mjs';
import { Problem } from './problem.mjs';
import { closed, openRedis, RedisSilence } from './redis-client.mjs';
import { findServer } from './redis-server.mjs';
import { Service } from './service.mjs';

const HOST = '127.0.0.1';
const FIRST_PORT = 6390;
const PORTS = 600;
/** A running launcher holds a connection of this name, by which another launcher recognises that it runs. */
const LAUNCHER = 'lehr-launcher';
const STOP_MS = 15_000;
const PATIENCE_MS = 60_000;

/** Finds or installs a server, stops one that a killed launcher left behind, and returns the Redis as a Service. */
export async function ownRedis({ home, say, signal, ...events }) {
  const address = await addressOf(home);
  await takeOver(address, { home, say, signal });
  const server = await findServer({ say, signal });
  const folder = join(home, 'redis');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await moveToFreePort(address, home);
  const rules = await readFile(join(ROOT, 'infra', 'redis.conf'), 'utf8');
  // On standard input, so that the password is not in the list of processes.
  const input = `${rules}\n${server.settings({ ...address, host: HOST, folder }).join('\n')}\n`;
  const service = new Service('Redis', {
    command: server.command({ ...address, host: HOST, folder }),
    input,
    env: process.env,
    stopMs: STOP_MS,
    ...events,
    // Only a second launcher looks for this connection, so a failure to open it is not an error.
    onStarted: () => void holdConnection(address, signal).catch(() => {}),
  });
  return { service, url: urlOf(address), port: address.port, program: server.name };
}

/** Resolves when Redis accepts commands, which may take a while: it first loads its log. */
export async function redisAnswers({ port, url }, signal) {
  const { password } = new URL(url);
  for (;;) {
    signal.throwIfAborted();
    try {
      const redis = await openRedis({ port, password });
      return redis.disconnect();
    } catch {
      await delay(50);
    }
  }
}

async function holdConnection(address, signal) {
  await redisAnswers({ port: address.port, url: urlOf(address) }, signal);
  const redis = await openRedis(address);
  await redis.client('SETNAME', LAUNCHER);
}

/** Stops the server of a launcher that was killed. Throws a Problem when its launcher is still running. */
async function takeOver(address, { home, say, signal }) {
  const redis = await leftServer(address, { home, say, signal });
  if (!redis) return;
  if (await hasLauncher(redis)) {
    redis.disconnect();
    throw new Problem(
      `Lehr already runs with the data in ${home}. Stop it (Ctrl-C where it runs), or give this one a folder and ports ` +
        'of its own:\n  LEHR_HOME=.lehr-2 LEHR_PORT=8090 LEHR_WORKER_PORT=9474 npm start',
    );
  }
  // Its launcher is gone. The server that starts next loads its data.
  await redis.shutdown().catch(() => {});
  await closed(redis);
}

/** Checks for a second, because a launcher names its connection only a moment after it has started the server. */
async function hasLauncher(redis) {
  for (let looks = 0; looks < 10; looks++) {
    if (looks > 0) await delay(100);
    const clients = await redis.client('LIST');
    if (clients.includes(`name=${LAUNCHER} `)) return true;
  }
  return false;
}

/**
 * A connection to a server that already runs with this data; undefined when there is none, or the port belongs to another
 * program. Waits for a server that is slow or still loads its log, because a second server would write into the same files.
 */
async function leftServer(address, { home, say, signal }) {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (let tries = 1; ; tries++) {
    let isLoading = false;
    signal.throwIfAborted();
    try {
      return await openRedis(address);
    } catch (error) {
      isLoading = error.message.startsWith('LOADING');
      if (!isLoading && !(address.isKnown && error instanceof RedisSilence)) return undefined;
    }
    if (tries === 1) say(`Waiting for the Redis that still runs with the data in ${home} ...`);
    if (!isLoading && performance.now() > giveUpAt)
      throw new Problem(
        `What listens at ${HOST}:${address.port} does not answer. It may be the Redis of ${home}, left behind: end it, or remove ` +
          `${join(home, 'redis-url')} if it is not.`,
      );
    await delay(100);
  }
}

async function addressOf(home) {
  const text = await readFile(join(home, 'redis-url'), 'utf8').catch(() => undefined);
  if (text === undefined) return { port: firstChoice(home), password: randomBytes(24).toString('base64url') };
  const { port, password } = new URL(text.trim());
  return { port: Number(port), password, isKnown: true };
}

/** Each folder has its own first port, so that installations that start at the same moment do not race for one. */
const firstChoice = (home) =>
  FIRST_PORT + (createHash('sha256').update(home).digest().readUInt32BE() % PORTS);

/** Keeps the port of the last start if it is free, else takes the next free one. */
async function moveToFreePort(address, home) {
  for (let i = 0; i < PORTS; i++) {
    const port = FIRST_PORT + ((address.port - FIRST_PORT + i) % PORTS);
    if (!(await isFree(HOST, port))) continue;
    address.port = port;
    const path = join(home, 'redis-url');
    await writeFile(`${path}.new`, `${urlOf(address)}\n`, { mode: 0o600 });
    return rename(`${path}.new`, path);
  }
  throw new Problem(
    `No port from ${FIRST_PORT} on is free for Redis; set LEHR_REDIS_URL to a server of yours.`,
  );
}

const urlOf = ({ port, password }) => `redis://:${password}@${HOST}:${port}`;
