import { getEventListeners } from 'node:events';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { JobWaits } from '../../apps/api/src/follow/wait.ts';
import { fairAdmission } from '../../apps/api/src/http/fair-admission.ts';
import { listen } from '../../apps/api/src/http/listen.ts';
import { type JobId, systemClock, type TenantId } from '../../packages/shared/src/index.ts';
import type { JobRecord } from '../../packages/shared/src/records/index.ts';
import { API_KEY, type ApiWorld, apiWorld, jobOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** No wait, no listener and no subscription is left. */
async function expectNothingLeft(world: ApiWorld): Promise<void> {
  expect(world.parts.waits.size).toBe(0);
  expect(world.channels.size).toBe(0);
  const { redis, keys } = world.parts;
  await expect.poll(() => redis.pubsub('CHANNELS', `${keys.prefix}:changed:*`)).toEqual([]);
}

const held = (world: ApiWorld, count: number) => expect.poll(() => world.parts.waits.size).toBe(count);

test('A long poll returns when the job is over, not at progress', async () => {
  const world = await apiWorld(server.url);
  const { id } = await world.post();
  const answer = world.ask('GET', `/v1/jobs/${id}?wait=30`);
  await held(world, 1);
  const claim = await world.worker.take();
  await world.worker.progress(claim, 3);
  await world.worker.succeed(claim);
  expect(await jobOf(await answer)).toMatchObject({ status: 'succeeded' });
  await expectNothingLeft(world);
});

test('A long poll with If-None-Match returns on any change of the job', async () => {
  const world = await apiWorld(server.url);
  const { id } = await world.post();
  const claim = await world.worker.take();
  const etag = (await world.ask('GET', `/v1/jobs/${id}`)).headers.get('etag') ?? '';
  const answer = world.ask('GET', `/v1/jobs/${id}?wait=30`, undefined, {
    headers: { 'if-none-match': etag },
  });
  await held(world, 1);
  await world.worker.progress(claim, 3);
  const response = await answer;
  expect(response.status).toBe(200);
  expect(response.headers.get('etag')).not.toBe(etag);
  expect(await jobOf(response)).toMatchObject({ progress: { step: 3 } });
});

test.each(['', '%20', 'soon'])('A wait without a number (%j) is refused', async (wait) => {
  const world = await apiWorld(server.url);
  const { id } = await world.post();
  const response = await world.ask('GET', `/v1/jobs/${id}?wait=${wait}`);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ errors: [{ pointer: '?wait' }] });
});

test('An unchanged version is answered 304, at once or at the end of the wait', async () => {
  const world = await apiWorld(server.url);
  const { id } = await world.post();
  const etag = (await world.ask('GET', `/v1/jobs/${id}`)).headers.get('etag') ?? '';
  expect(etag).toMatch(/^W\/"1-/);
  for (const [query, known] of [
    ['', etag],
    ['', etag.replace('W/', '')],
    ['', `"0", ${etag}`],
    ['', '*'],
    ['?wait=0.05', etag],
  ]) {
    const response = await world.ask('GET', `/v1/jobs/${id}${query}`, undefined, {
      headers: { 'if-none-match': known },
    });
    expect(response.status).toBe(304);
    expect(response.headers.get('etag')).toBe(etag);
    expect(await response.text()).toBe('');
  }
  const other = await world.ask('GET', `/v1/jobs/${id}?wait=30`, undefined, {
    headers: { 'if-none-match': '"7"' },
  });
  expect(other.status).toBe(200);
});

test('A long poll of a workflow with If-None-Match returns when one of its nodes ends', async () => {
  const world = await apiWorld(server.url);
  const node = { type: 'text-to-image', input: { prompt: 'a red circle' } };
  const nodes = ['a', 'b'].map((name) => ({ id: name, ...node }));
  const { id } = await jobOf(await world.ask('POST', '/v1/jobs', { type: 'workflow', nodes }));
  const [first] = [await world.worker.take(), await world.worker.take()];
  await world.parts.workflows.advance(id as JobId);
  const etag = (await world.ask('GET', `/v1/jobs/${id}`)).headers.get('etag') ?? '';
  const answer = world.ask('GET', `/v1/jobs/${id}?wait=60`, undefined, {
    headers: { 'if-none-match': etag },
  });
  await held(world, 1);
  await world.worker.succeed(first);
  const response = await answer;
  expect(response.status).toBe(200);
  const { nodes: shown } = await jobOf(response);
  expect(shown?.map(({ status }) => status).sort()).toEqual(['running', 'succeeded']);
});

test('A job that has ended is shown with new links before the old ones expire, and is 304 until then', async () => {
  let passedMs = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + passedMs };
  const world = await apiWorld(server.url, { clock });
  const { id } = await world.post();
  await world.worker.succeed(await world.worker.take());
  const first = await world.ask('GET', `/v1/jobs/${id}`);
  const etag = first.headers.get('etag') ?? '';
  const expiresAt = Date.parse((await jobOf(first)).output?.images?.[0].expires_at ?? '');
  const again = () => world.ask('GET', `/v1/jobs/${id}`, undefined, { headers: { 'if-none-match': etag } });
  passedMs = 100_000;
  expect((await again()).status).toBe(304);
  passedMs = expiresAt - systemClock.now() - 60_000;
  const renewed = await again();
  expect(renewed.status).toBe(200);
  const { output } = await jobOf(renewed);
  expect(Date.parse(output?.images?.[0].expires_at ?? '')).toBeGreaterThan(expiresAt);
});

test('A request for a job that is over is never held, with or without If-None-Match', async () => {
  const world = await apiWorld(server.url);
  const { id } = await world.post();
  await world.worker.succeed(await world.worker.take());
  const { headers } = await world.ask('GET', `/v1/jobs/${id}?wait=30`);
  const again = await world.ask('GET', `/v1/jobs/${id}?wait=30`, undefined, {
    headers: { 'if-none-match': headers.get('etag') ?? '' },
  });
  expect(again.status).toBe(304);
});

test('A hundred requests for one job share one subscription and all get its end', async () => {
  const world = await apiWorld(server.url);
  const { id } = await world.post();
  const answers = Array.from({ length: 100 }, () => world.ask('GET', `/v1/jobs/${id}?wait=30`));
  await held(world, 100);
  expect(world.channels.size).toBe(1);
  const { redis, keys } = world.parts;
  const channel = keys.changed(id as JobId);
  await expect.poll(() => redis.pubsub('NUMSUB', channel)).toEqual([channel, 1]);
  await world.worker.succeed(await world.worker.take());
  const states = await Promise.all(answers.map(async (answer) => (await jobOf(await answer)).status));
  expect(new Set(states)).toEqual(new Set(['succeeded']));
  await expectNothingLeft(world);
});

test('A change between the read and the subscription is not missed', async () => {
  const world = await apiWorld(server.url);
  await world.post();
  const claim = await world.worker.take();
  const { records, keys, redis, clock } = world.parts;
  // The channel is subscribed already, so no confirmation of the subscription triggers a read.
  const unlisten = world.channels.listen(keys.changed(claim.jobId), () => {});
  await expect.poll(() => redis.pubsub('NUMSUB', keys.changed(claim.jobId))).toContain(1);
  const read = async () => (await records.read(claim.jobId)) as JobRecord;
  const first = await read();
  await world.worker.succeed(claim);
  // Only a wake-up ends this sleep.
  const sleep = (_: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
  const waits = new JobWaits(world.channels, keys, { ...clock, sleep });
  const isOver = (record: JobRecord) => record.state === 'succeeded';
  const signal = () => new AbortController().signal;
  const record = await waits.until({ id: claim.jobId, first, read, isOver, timeoutMs: 60_000, signal });
  expect(record.state).toBe('succeeded');
  unlisten();
  await expectNothingLeft(world);
});

test('A lost message is made up for by the next poll', async () => {
  const world = await apiWorld(server.url);
  const { id } = await world.post();
  const claim = await world.worker.take();
  const answer = world.ask('GET', `/v1/jobs/${id}?wait=30`);
  await held(world, 1);
  const { redis, keys } = world.parts;
  await expect.poll(() => redis.pubsub('NUMSUB', keys.changed(claim.jobId))).toContain(1);
  // A message published before the reconnect is lost.
  const subscribers = (await redis.client('LIST')) as string;
  const subscriber = /id=(\d+) (?=.*name=lehr-subscriber)(?=.* sub=1 )/.exec(subscribers)?.[1];
  await redis.client('KILL', 'ID', Number(subscriber));
  await world.worker.succeed(claim);
  expect(await jobOf(await answer)).toMatchObject({ status: 'succeeded' });
});

test('The waits of a tenant with many of them are checked less often, and those of another tenant are not', async () => {
  const world = await apiWorld(server.url);
  const { id } = await world.post();
  const first = (await world.parts.records.read(id as JobId)) as JobRecord;
  const sleeps: number[] = [];
  const sleep = (ms: number, signal?: AbortSignal) => {
    sleeps.push(ms);
    return systemClock.sleep(60_000, signal);
  };
  const waits = new JobWaits(world.channels, world.parts.keys, { ...systemClock, sleep });
  const wait = (record: JobRecord) =>
    waits.until({
      id: record.id,
      first: record,
      read: async () => record,
      isOver: () => false,
      timeoutMs: 60_000,
      signal: () => new AbortController().signal,
    });
  const polls = Array.from({ length: 1000 }, () => wait(first));
  expect([sleeps[0], sleeps.at(-1)]).toEqual([2000, 5000]);
  const other = wait({ ...first, tenant: 'other' as TenantId });
  expect(sleeps.at(-1)).toBe(2000);
  waits.stop();
  await Promise.all([...polls, other]);
  await expectNothingLeft(world);
});

test('A wait for a job that is deleted meanwhile ends with 404', async () => {
  const world = await apiWorld(server.url);
  const { id } = await world.post();
  const answer = world.ask('GET', `/v1/jobs/${id}?wait=30`);
  await held(world, 1);
  const { redis, keys } = world.parts;
  await redis.del(keys.record(id as JobId));
  await redis.publish(keys.changed(id as JobId), '2');
  expect((await answer).status).toBe(404);
  await expectNothingLeft(world);
});

test('A caller that hangs up leaves no listener and no subscription', async () => {
  const world = await apiWorld(server.url);
  const { id } = await world.post();
  const hangUp = new AbortController();
  const answer = world.ask('GET', `/v1/jobs/${id}?wait=30`, undefined, { signal: hangUp.signal });
  await held(world, 1);
  hangUp.abort();
  await answer;
  expect(getEventListeners(hangUp.signal, 'abort').filter((each) => each.name === 'wake')).toEqual([]);
  await expectNothingLeft(world);
});

test('A closed connection ends its wait', async () => {
  const world = await apiWorld(server.url);
  const { id } = await world.post();
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(0));
  listener.serve(fairAdmission(world.app.fetch, world.parts));
  const hangUp = new AbortController();
  const request = fetch(`http://127.0.0.1:${listener.port}/v1/jobs/${id}?wait=30`, {
    headers: { authorization: `Bearer ${API_KEY}` },
    signal: hangUp.signal,
  });
  await held(world, 1);
  hangUp.abort();
  await expect(request).rejects.toThrow();
  await held(world, 0);
  await expectNothingLeft(world);
});

test('When a server stops, it answers held requests with the current state of their jobs', async () => {
  const world = await apiWorld(server.url);
  const { id } = await world.post();
  const listener = await listen('127.0.0.1', 0);
  listener.serve(fairAdmission(world.app.fetch, world.parts));
  const url = `http://127.0.0.1:${listener.port}/v1/jobs`;
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };
  const polled = fetch(`${url}/${id}?wait=60`, { headers });
  const body = JSON.stringify({ type: 'text-to-image', input: { prompt: 'x' } });
  const posted = fetch(`${url}?wait=60`, { method: 'POST', headers, body });
  await held(world, 2);
  world.parts.waits.stop();
  const closed = listener.close(30_000);
  expect((await polled).status).toBe(200);
  expect(await jobOf(await polled)).toMatchObject({ status: 'queued' });
  expect((await posted).status).toBe(202);
  await posted.then((response) => response.text());
  await closed;
  await expect(fetch(url)).rejects.toThrow();
  await expectNothingLeft(world);
});
