import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { Problem } from './problem.mjs';

const CONNECT_MS = 5000;

/** The error code of listening on this port; undefined when it is free. */
async function refusal(host, port) {
  const server = createServer().listen({ host, port, exclusive: true });
  try {
    await once(server, 'listening');
    return undefined;
  } catch (error) {
    return error.code;
  } finally {
    server.close();
  }
}

export const isFree = async (host, port) => (await refusal(host, port)) === undefined;

/** A port that is free at this moment. */
export async function anyFreePort(host) {
  const server = createServer().listen({ host, port: 0, exclusive: true });
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Resolves when `port`, which the variable `name` sets, can be listened on; a Problem says what to set instead. */
export async function claimPort(name, host, port) {
  const code = await refusal(host, port);
  if (code === undefined) return;
  if (code === 'EADDRINUSE') {
    const spare = await anyFreePort(host);
    throw new Problem(
      `Port ${port} on ${host} is taken by another program. Stop that, or set ${name} to another port, for example:\n` +
        `  ${name}=${spare} npm start`,
    );
  }
  if (code === 'EACCES') {
    throw new Problem(`Port ${port} needs more rights than this user has; set ${name} to one above 1023.`);
  }
  throw new Problem(`${name}=${port}: nothing can listen on ${host}:${port} (${code}).`);
}

/**
 * Resolves when something answers at the Redis that `url` names, or at the first Sentinel; the Problem that it throws otherwise
 * does not contain the password.
 */
export async function reachRedis(url) {
  const [sentinel] = new URL(url).searchParams.get('sentinels')?.split(',') ?? [];
  const { hostname, port } = new URL(sentinel ? `redis://${sentinel}` : url);
  const [host, number] = [hostname.replace(/^\[|\]$/g, ''), Number(port || (sentinel ? 26_379 : 6379))];
  const socket = connect({ host, port: number, timeout: CONNECT_MS });
  socket.once('timeout', () => socket.destroy(new Error(`no answer in ${CONNECT_MS / 1000} s`)));
  try {
    await once(socket, 'connect');
  } catch (error) {
    throw new Problem(
      `LEHR_REDIS_URL: nothing answers at ${host}:${number} (${error.code ?? error.message}).`,
    );
  } finally {
    socket.destroy();
  }
}

/** How programs on this machine reach a server that listens on `host`. */
export function urlOf(host, port) {
  const name = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
