/** A caller with more requests than are active at a time keeps no other caller waiting. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { fairAdmission } from '../../apps/api/src/http/fair-admission.ts';
import { listen } from '../../apps/api/src/http/listen.ts';
import { ActiveRequests } from '../../apps/api/src/http/turns/active-requests.ts';
import { API_KEY, type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { type KeyHolder, keyHolder } from '../support/key-holder.ts';
import { manualClock } from '../support/manual-clock.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const WAIT = { timeout: 30_000 };
const MAX_ACTIVE = 16;

async function served(world: ApiWorld): Promise<string> {
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(0));
  listener.serve(fairAdmission(world.app.fetch, world.parts), {
    onConnection: () => world.parts.activeRequests.connected(),
  });
  return `http://127.0.0.1:${listener.port}`;
}

/** Keys of two tenants, each used once. Requests with the first one stop at a gate from then on. */
async function gatedWorld(changes: Parameters<typeof apiWorld>[1] = {}) {
  const world = await apiWorld(server.url, changes);
  const greedy: KeyHolder = await keyHolder(world, 'greedy');
  const polite: KeyHolder = await keyHolder(world, 'polite');
  const url = await served(world);
  const get = (key: string, path = '/v1/models') =>
    fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } });
  for (const { key } of [greedy, polite]) expect((await get(key.key)).status).toBe(200);
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  onTestFinished(() => open());
  const { files } = world.parts;
  const find = files.find.bind(files);
  let stoppedNow = 0;
  files.find = async (tenant, id) => {
    if (tenant === greedy.key.tenant) {
      stoppedNow += 1;
      await gate;
    }
    return find(tenant, id);
  };
  const stopped = (count: number) =>
    Array.from({ length: count }, async () => (await get(greedy.key.key, '/v1/files/none')).status);
  /** All places of the tenant are taken. */
  const full = async () => {
    void stopped(MAX_ACTIVE);
    await expect.poll(() => stoppedNow, WAIT).toBe(MAX_ACTIVE);
  };
  const waiting = (count: number) => expect.poll(() => world.parts.activeRequests.waiting, WAIT).toBe(count);
  return { world, greedy: greedy.key.key, polite: polite.key.key, url, get, open, stopped, full, waiting };
}

test('Requests of a tenant above sixteen wait while those of others are answered, and are answered later', async () => {
  const { polite, url, get, open, stopped, waiting } = await gatedWorld();
  const answers = stopped(MAX_ACTIVE + 4);
  await waiting(4);
  expect((await get(polite)).status).toBe(200);
  // A key that was not seen before, and no key.
  expect((await get(API_KEY)).status).toBe(200);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain('lehr_waiting_requests 4\n');
  open();
  expect(new Set(await Promise.all(answers))).toEqual(new Set([404]));
  await waiting(0);
});

test('A request that waits for ten seconds is a 503 with a time to retry, in the form of its route', async () => {
  const clock = manualClock();
  const { greedy, get, full, waiting } = await gatedWorld({ activeRequests: new ActiveRequests(clock) });
  await full();
  const late = Promise.all([get(greedy), get(greedy, '/v1/predictions')]);
  await waiting(2);
  const [native, replicate] = await clock.until(late);
  for (const response of [native, replicate]) {
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(response.headers.get('x-request-id')).toBeTruthy();
  }
  expect((await problemOf(native)).type).toBe('urn:lehr:problem:overloaded');
});

test('Requests that wait for the end of their job do not count, and are all answered at its end', async () => {
  const world = await apiWorld(server.url);
  const url = await served(world);
  const { id } = await world.post();
  const headers = { authorization: `Bearer ${API_KEY}` };
  const polls = Array.from({ length: 5 * MAX_ACTIVE }, () =>
    fetch(`${url}/v1/jobs/${id}?wait=60`, { headers }),
  );
  await expect.poll(() => world.parts.waits.size, WAIT).toBe(polls.length);
  expect((await fetch(`${url}/v1/jobs/${id}`, { headers })).status).toBe(200);
  await world.worker.succeed(await world.worker.take());
  const answers = await Promise.all(polls);
  const states = await Promise.all(
    answers.map(async (each) => ((await each.json()) as { status: string }).status),
  );
  expect(new Set(states)).toEqual(new Set(['succeeded']));
  await expect.poll(() => world.parts.activeRequests.waiting, WAIT).toBe(0);
});

test('Requests whose caller hangs up while they wait leave the line', async () => {
  const { url, greedy, full, waiting } = await gatedWorld();
  await full();
  const hangUp = new AbortController();
  const headers = { authorization: `Bearer ${greedy}` };
  const late = Array.from({ length: 4 }, () => fetch(`${url}/v1/models`, { headers, signal: hangUp.signal }));
  await waiting(4);
  hangUp.abort();
  await Promise.allSettled(late);
  await waiting(0);
});
