/** Half-sent requests take the connections of the public listener only, and for a short time. */
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { API_KEY } from '../support/api-world.ts';
import { shared } from '../support/cleanup.ts';
import { type Env, installation } from '../support/installation.ts';
import { type LehrProcess, startCommand, startLehr } from '../support/lehr-process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { asUser } from '../support/redis-server.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const API_ENTRY = fileURLToPath(new URL('../../apps/api/dist/main.js', import.meta.url));
/** Half of the files that a process may open. */
const MAX_CONNECTIONS = 100;
const HALF_REQUEST = 'GET /v1/jobs HTTP/1.1\r\nhost: lehr\r\n';

async function started(env: Env) {
  return listening(startLehr('api', { ...(await installation(server.url, env)), LEHR_API_KEY: API_KEY }));
}

/** Takes MAX_CONNECTIONS connections, because the process may open few files. */
async function startedWithFewFiles(env: Env = {}) {
  const { LEHR_REDIS_URL, ...own } = await installation(server.url, env);
  const command = `ulimit -n ${2 * MAX_CONNECTIONS} && exec "$0" "$@"`;
  return listening(
    startCommand('sh', ['-c', command, process.execPath, API_ENTRY], {
      ...own,
      LEHR_REDIS_URL: asUser(LEHR_REDIS_URL, 'api'),
      LEHR_API_KEY: API_KEY,
    }),
  );
}

async function listening(api: LehrProcess) {
  const { url, port, operationsPort } = await api.logged('API is listening');
  return { api, url: String(url), port: Number(port), operations: `http://127.0.0.1:${operationsPort}` };
}

const api = shared(() => started({}));

const statusOf = async (url: string, key?: string): Promise<number> => {
  const headers = key === undefined ? undefined : { authorization: `Bearer ${key}` };
  return (await fetch(url, { headers })).status;
};

test('With LEHR_OPERATIONS_PORT, the public listener serves neither metrics nor readiness nor the board', async () => {
  const { url, operations } = await started({ LEHR_OPERATIONS_PORT: '0' });
  const paths = ['/metrics', '/readyz', '/admin/queues'];
  for (const path of paths) {
    expect(await statusOf(`${url}${path}`, API_KEY), path).toBe(404);
    expect(await statusOf(`${operations}${path}`, API_KEY), path).toBe(200);
  }
  for (const origin of [url, operations]) expect(await statusOf(`${origin}/healthz`)).toBe(200);
  expect(await statusOf(`${url}/v1/jobs`, API_KEY)).toBe(200);
  expect(await statusOf(`${operations}/v1/jobs`, API_KEY)).toBe(404);
  const { paths: documented } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: object };
  expect(Object.keys(documented)).not.toContain('/readyz');
});

test('Without LEHR_OPERATIONS_PORT, one listener serves everything', async () => {
  const { url } = api;
  for (const path of ['/metrics', '/readyz', '/admin/queues', '/healthz', '/v1/jobs']) {
    expect(await statusOf(`${url}${path}`, API_KEY), path).toBe(200);
  }
});

test('Half-sent requests beyond the limit are closed, the operations listener answers, and callers can connect again', {
  tags: ['long'],
}, async () => {
  const { api, url, port, operations } = await startedWithFewFiles({ LEHR_OPERATIONS_PORT: '0' });
  let closed = 0;
  const open = (): Socket => {
    const socket = connect(port, '127.0.0.1', () => socket.write(HALF_REQUEST));
    // A refused connection may be reset. The end of a connection is seen only by who reads it.
    socket.on('error', () => {}).resume();
    socket.once('close', () => {
      closed += 1;
    });
    return socket;
  };
  const sockets = Array.from({ length: 5 * MAX_CONNECTIONS }, open);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await expect.poll(() => closed).toBe(4 * MAX_CONNECTIONS);
  await api.logged('connections are refused: too many are open');
  for (const path of ['/readyz', '/metrics', '/healthz'])
    expect(await statusOf(`${operations}${path}`)).toBe(200);
  // The headers of the others do not come in time either.
  await expect.poll(() => closed, { timeout: 30_000 }).toBe(5 * MAX_CONNECTIONS);
  expect(await statusOf(`${url}/v1/jobs`, API_KEY)).toBe(200);
});

/** Sends that many requests at once; resolves with the number of answers when the connection ends or all are there. */
async function pipelined(port: number, requests: number): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => {
    socket.destroy();
  });
  let text = '';
  const answers = (): number => text.split('HTTP/1.1 200').length - 1;
  return new Promise((resolve) => {
    socket.on('data', (bytes) => {
      text += bytes;
      if (answers() === requests) resolve(requests);
    });
    socket.on('error', () => {}).once('close', () => resolve(answers()));
    socket.write('GET /healthz HTTP/1.1\r\nhost: lehr\r\n\r\n'.repeat(requests));
  });
}

test('A few requests sent at once on a connection are all answered, and a connection with many is closed', async () => {
  const { port, url } = api;
  expect(await pipelined(port, 16)).toBe(16);
  expect(await pipelined(port, 400)).toBeLessThanOrEqual(16);
  expect(await statusOf(`${url}/healthz`)).toBe(200);
});

test('Of event streams that were sent at once on one connection only the first begins, and it ends with the connection', async () => {
  const { port, url } = api;
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ type: 'text-to-image', input: { prompt: 'a red circle' } });
  const job = (await (await fetch(`${url}/v1/jobs`, { method: 'POST', headers, body })).json()) as {
    id: string;
  };
  const metric = async (line: RegExp): Promise<number> =>
    Number(line.exec(await (await fetch(`${url}/metrics`)).text())?.[1]);
  const streams = (): Promise<number> => metric(/^lehr_event_streams (\d+)$/m);
  const request = `GET /v1/jobs/${job.id}/events HTTP/1.1\r\nhost: lehr\r\nauthorization: Bearer ${API_KEY}\r\n\r\n`;
  const socket = connect(port, '127.0.0.1', () => socket.write(request.repeat(8)));
  await expect.poll(streams, { timeout: 30_000 }).toBe(1);
  // All eight came in one packet, so the others would have begun by now.
  expect(await streams()).toBe(1);
  socket.destroy();
  await expect.poll(streams, { timeout: 30_000 }).toBe(0);
  expect(await metric(/^lehr_http_requests_total\{[^}]*route="\/v1\/jobs\/:id\/events"[^}]*\} (\d+)$/m)).toBe(
    1,
  );
});

/** The status of a request on a new connection from this address; undefined when the connection is closed instead. */
function statusFrom(
  port: number,
  localAddress: string,
  agent: Agent,
  key = API_KEY,
): Promise<number | undefined> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}` };
    const sent = request(
      { port, host: '127.0.0.1', path: '/v1/jobs', localAddress, agent, headers },
      (answer) => {
        answer.resume().once('end', () => resolve(answer.statusCode));
      },
    );
    sent.once('error', () => resolve(undefined)).end();
  });
}

test('A tenant that holds all connections loses idle ones to another tenant, and not more than half of them', async () => {
  const { url, port } = await startedWithFewFiles();
  const headers = {
    authorization: `Bearer ${API_KEY}`,
    'content-type': 'application/json',
    connection: 'close',
  };
  const created = await fetch(`${url}/v1/keys`, {
    method: 'POST',
    headers,
    body: '{"tenant":"polite","scopes":["read"]}',
  });
  const { key } = (await created.json()) as { key: string };
  const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })];
  onTestFinished(() => {
    for (const agent of agents) agent.destroy();
  });
  const [greedy, polite] = agents;
  const many = (count: number, ask: () => Promise<number | undefined>) =>
    Promise.all(Array.from({ length: count }, ask));
  // Twice, because the key is known to belong to the tenant only after it was accepted once.
  for (let i = 0; i < 2; i++) await many(MAX_CONNECTIONS, () => statusFrom(port, '127.0.0.1', greedy));
  const answers = await many(MAX_CONNECTIONS, () => statusFrom(port, '127.0.0.2', polite, key));
  expect(answers.filter((status) => status === 200).length).toBeGreaterThanOrEqual(MAX_CONNECTIONS / 2);
  const again = await many(MAX_CONNECTIONS / 4, () => statusFrom(port, '127.0.0.1', greedy));
  expect(again).toContain(200);
});
