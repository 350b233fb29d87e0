import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { EventFeeds } from '../../apps/api/src/follow/event-feed.ts';
import { EventLinks } from '../../apps/api/src/follow/event-links.ts';
import { listen } from '../../apps/api/src/http/listen.ts';
import {
  type Clock,
  type JobEvent,
  type JobId,
  showPreview,
  systemClock,
} from '../../packages/shared/src/index.ts';
import {
  API_KEY,
  type ApiWorld,
  apiWorld,
  LINK_SECRET,
  PUBLIC_URL,
  problemOf,
} from '../support/api-world.ts';
import { readEvents, type StreamedEvent } from '../support/event-stream.ts';
import { manualClock } from '../support/manual-clock.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const open = (world: ApiWorld, id: string, rest = '', headers: Record<string, string> = {}) =>
  world.ask('GET', `/v1/jobs/${id}/events${rest}`, undefined, { headers });

/** All events of a stream, until it closes. */
async function allEvents(response: Response): Promise<StreamedEvent[]> {
  expect(response.status).toBe(200);
  const events: StreamedEvent[] = [];
  for await (const event of readEvents(response)) events.push(event);
  return events;
}

const feedsOpen = (world: ApiWorld, count: number) => expect.poll(() => world.parts.feeds.size).toBe(count);

async function expectNothingLeft(world: ApiWorld): Promise<void> {
  await feedsOpen(world, 0);
  expect(world.channels.size).toBe(0);
  const { redis, keys } = world.parts;
  await expect.poll(() => redis.pubsub('CHANNELS', `${keys.prefix}:*`)).toEqual([]);
}

/** A feed with a clock that the test moves. */
function heldFeed(world: ApiWorld, id: string, after: number) {
  const clock = manualClock();
  const hangUp = new AbortController();
  const feeds = new EventFeeds({ ...world.parts, channels: world.channels, clock });
  const feed = feeds.follow({ id: id as JobId, after, previews: false, disconnected: hangUp.signal });
  return { feed, clock, hangUp };
}

/** A succeeded job with three progress events. */
async function finishedJob(world: ApiWorld): Promise<string> {
  const { id } = await world.post();
  const claim = await world.worker.take();
  for (const step of [1, 2, 3]) await world.worker.progress(claim, step);
  await world.worker.succeed(claim);
  return id;
}

const TYPES = ['job.queued', 'job.started', 'job.progress', 'job.progress', 'job.progress', 'job.succeeded'];

describe('event stream', () => {
  test('A stream sends past events and new ones, each with its id, and closes after the end', async () => {
    const world = await apiWorld(server.url);
    const { id } = await world.post();
    const response = await open(world, id);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('private, no-store');
    const events = readEvents(response);
    expect(await events.next()).toMatchObject({ value: { id: '1', event: 'job.queued' } });
    const claim = await world.worker.take();
    expect((await events.next()).value).toEqual({
      id: '2',
      event: 'job.started',
      data: { type: 'job.started', timestamp: expect.any(String), data: { id, status: 'running' } },
    });
    await world.worker.progress(claim, 4);
    expect((await events.next()).value).toMatchObject({
      id: '3',
      data: { type: 'job.progress', data: { id, fraction: 0.5, stage: 'denoise', step: 4, steps: 8 } },
    });
    await world.worker.succeed(claim);
    const { value: end } = await events.next();
    expect(end).toMatchObject({ id: '4', event: 'job.succeeded', data: { type: 'job.succeeded' } });
    expect(await events.next()).toMatchObject({ done: true });
    const job = await world.get(id);
    expect(end?.data.timestamp).toBe(job.finished_at);
    expect(end?.data.data).toMatchObject({
      ...job,
      output: { images: [{ sha256: job.output?.images?.[0].sha256 }] },
    });
    await expectNothingLeft(world);
  });

  test.each(['failed', 'canceled'] as const)(
    'The last event of a stream is the job.%s event',
    async (state) => {
      const world = await apiWorld(server.url);
      const { id } = await world.post();
      const response = await open(world, id);
      if (state === 'failed') await world.worker.fail(await world.worker.take());
      else await world.ask('POST', `/v1/jobs/${id}/cancel`);
      const last = (await allEvents(response)).at(-1);
      expect(last).toMatchObject({ event: `job.${state}`, data: { data: { status: state } } });
    },
  );

  test('A stream resumes after any event, named by header or query, and the header takes precedence', async () => {
    const world = await apiWorld(server.url);
    const id = await finishedJob(world);
    for (let after = 0; after < TYPES.length; after++) {
      const missing = TYPES.slice(after);
      const byQuery = await allEvents(await open(world, id, `?after=${after}`));
      expect(byQuery.map(({ event }) => event)).toEqual(missing);
      expect(byQuery.map((each) => each.id)).toEqual(missing.map((_, i) => `${after + i + 1}`));
      const byHeader = await allEvents(await open(world, id, '?after=1', { 'last-event-id': `${after}` }));
      expect(byHeader.map(({ event }) => event)).toEqual(missing);
    }
  });

  test('A browser that has the end event is answered 204, which stops it from reconnecting', async () => {
    const world = await apiWorld(server.url);
    const id = await finishedJob(world);
    const response = await open(world, id, '', { 'last-event-id': '6' });
    expect(response.status).toBe(204);
    expect(await response.text()).toBe('');
  });

  test('A stream of a job that is over has the end event even when the stored events are lost', async () => {
    const world = await apiWorld(server.url);
    const id = await finishedJob(world);
    const { redis, keys } = world.parts;
    await redis.del(keys.events(id as JobId));
    expect(await allEvents(await open(world, id))).toMatchObject([{ id: '6', event: 'job.succeeded' }]);
    // An id beyond the job's revision, lost in a crash of Redis, counts as no id.
    expect(await allEvents(await open(world, id, '?after=99'))).toHaveLength(1);
  });

  test('A stream with more events than one read takes sends each of them once', async () => {
    const world = await apiWorld(server.url);
    const { id } = await world.post();
    const claim = await world.worker.take();
    for (let step = 1; step <= 150; step++) await world.worker.progress(claim, step, 150);
    await world.worker.succeed(claim);
    const revs = (await allEvents(await open(world, id))).map((event) => Number(event.id));
    expect(revs).toEqual(Array.from({ length: 153 }, (_, i) => i + 1));
  });

  test('A stream ends without an end event when its job is deleted', async () => {
    const world = await apiWorld(server.url);
    const { id } = await world.post();
    const events = readEvents(await open(world, id));
    await events.next();
    const { redis, keys } = world.parts;
    await redis.del(keys.record(id as JobId), keys.events(id as JobId));
    await redis.publish(keys.changed(id as JobId), '2');
    expect(await events.next()).toMatchObject({ done: true });
    await expectNothingLeft(world);
  });

  test.each(['?after=-1', '?after=x', '?previews=maybe', '?before=1'])(
    'A stream with the query %s is refused',
    async (rest) => {
      const world = await apiWorld(server.url);
      const { id } = await world.post();
      const problem = await problemOf(await open(world, id, rest));
      expect(problem.type).toBe('urn:lehr:problem:invalid-request');
      const other = await open(world, id, '', { 'last-event-id': 'abc' });
      expect(other.status).toBe(400);
    },
  );
});

describe('access to streams', () => {
  test('A stream of an unknown job is answered 404, and one without a key 401', async () => {
    const world = await apiWorld(server.url);
    const { id } = await world.post();
    expect((await open(world, 'job_01jd3v9s6w0000000000000000')).status).toBe(404);
    expect((await open(world, 'nonsense')).status).toBe(404);
    expect((await world.app.request(`/v1/jobs/${id}/events`)).status).toBe(401);
  });

  test('A signed event link works without a key and from any origin', async () => {
    const world = await apiWorld(server.url);
    const id = await finishedJob(world);
    const { links } = await world.get(id);
    expect(links.events).toBe(`${PUBLIC_URL}/v1/jobs/${id}/events`);
    const response = await world.app.request(links.events_signed.slice(PUBLIC_URL.length));
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    expect((await allEvents(response)).map(({ event }) => event)).toEqual(TYPES);
    const rest = await world.app.request(`${links.events_signed.slice(PUBLIC_URL.length)}&previews=false`, {
      headers: { 'last-event-id': '5' },
    });
    expect(await allEvents(rest)).toHaveLength(1);
  });

  test('A link that was changed or belongs to another job is answered 403, and an expired one 410', async () => {
    let skewMs = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + skewMs };
    const world = await apiWorld(server.url);
    const eventLinks = new EventLinks({ secret: LINK_SECRET, publicUrl: PUBLIC_URL, ttlS: 900, clock });
    const late = await apiWorld(server.url, { eventLinks, keys: world.parts.keys });
    const [one, other] = [await late.post(), await late.post()];
    const path = one.links.events_signed.slice(PUBLIC_URL.length);
    const status = async (link: string) => (await late.app.request(link)).status;
    expect(await status(path.replace(one.id, other.id))).toBe(403);
    expect(await status(path.replace(/expires=\d/, 'expires=9'))).toBe(403);
    expect(await status(path.replace(/sig=...../, 'sig=aaaaa'))).toBe(403);
    skewMs = 440_000;
    const open = await late.app.request(path);
    expect(open.status).toBe(200);
    await open.body?.cancel();
    skewMs = 901_000;
    expect(await status(path)).toBe(410);
    skewMs = 0;
    await late.parts.redis.del(late.parts.keys.record(one.id as JobId));
    expect(await status(path)).toBe(404);
  });
});

describe('losses', () => {
  test('An event whose message was lost is found by the next read', async () => {
    const world = await apiWorld(server.url);
    const { id } = await world.post();
    const claim = await world.worker.take();
    const events = readEvents(await open(world, id, '?after=2'));
    const next = events.next();
    await feedsOpen(world, 1);
    const { redis, keys } = world.parts;
    await expect.poll(() => redis.pubsub('NUMSUB', keys.changed(claim.jobId))).toContain(1);
    const clients = (await redis.client('LIST')) as string;
    const subscriber = /id=(\d+) (?=.*name=lehr-subscriber)(?=.* sub=2 )/.exec(clients)?.[1];
    await redis.client('KILL', 'ID', Number(subscriber));
    await world.worker.succeed(claim);
    expect(await next).toMatchObject({ value: { event: 'job.succeeded' } });
  });

  test('A stream stays open and pings during an outage of Redis, and continues with the events it missed', async () => {
    const own = await startRedis();
    onTestFinished(() => own.stop());
    const world = await apiWorld(own.url);
    const { id } = await world.post();
    const claim = await world.worker.take();
    const { feed, clock } = heldFeed(world, id, 1);
    expect(await feed.next()).toMatchObject({ value: { event: { type: 'job.started' } } });
    const quiet = feed.next();
    await own.kill();
    expect(await clock.until(quiet)).toMatchObject({ value: 'ping' });
    // More pings come when Redis is back late.
    const nextEvent = async () => {
      for (;;) {
        const next = await feed.next();
        if (next.value !== 'ping') return next;
      }
    };
    const rest = nextEvent();
    await own.restart();
    const isBack = () =>
      world.worker.progress(claim, 2).then(
        () => true,
        () => false,
      );
    await expect.poll(isBack, { timeout: 5000 }).toBe(true);
    expect(await clock.until(rest)).toMatchObject({ value: { rev: 3, event: { type: 'job.progress' } } });
    await world.worker.succeed(claim);
    const end = await clock.until(nextEvent());
    expect(end).toMatchObject({ value: { rev: 4, event: { type: 'job.succeeded' } } });
    expect(await feed.next()).toMatchObject({ done: true });
    await expectNothingLeft(world);
  });
});

test('A stream without events pings every 15 seconds', async () => {
  const world = await apiWorld(server.url);
  const { id } = await world.post();
  const { feed, clock, hangUp } = heldFeed(world, id, 0);
  expect(await feed.next()).toMatchObject({ value: { rev: 1 } });
  for (let ping = 1; ping <= 3; ping++) {
    expect(await clock.until(feed.next())).toEqual({ value: 'ping', done: false });
    expect(clock.now()).toBe(ping * 15_000);
  }
  const last = feed.next();
  hangUp.abort();
  expect(await last).toMatchObject({ done: true });
});

test('A slow reader makes the server hold no more than one read, and gets every event in the end', async () => {
  const world = await apiWorld(server.url);
  const { records } = world.parts;
  const changes = vi.spyOn(records, 'changes');
  const { id } = await world.post();
  const events = readEvents(await open(world, id));
  await events.next();
  const claim = await world.worker.take();
  for (let step = 1; step <= 300; step++) await world.worker.progress(claim, step, 300);
  await world.worker.succeed(claim);
  expect(changes.mock.calls.length).toBeLessThanOrEqual(2);
  const revs: number[] = [];
  for await (const event of events) revs.push(Number(event.id));
  expect(revs).toEqual(Array.from({ length: 302 }, (_, i) => i + 2));
  const held = await Promise.all(changes.mock.results.map(({ value }) => value));
  expect(Math.max(...held.map(({ events }) => events.length))).toBeLessThanOrEqual(64);
  await expectNothingLeft(world);
});

describe('stream over a socket', () => {
  async function served(world: ApiWorld) {
    const listener = await listen('127.0.0.1', 0);
    onTestFinished(() => listener.close(0));
    listener.serve(world.app.fetch);
    const follow = (id: string, init: RequestInit = {}) =>
      fetch(`http://127.0.0.1:${listener.port}/v1/jobs/${id}/events`, {
        ...init,
        headers: { authorization: `Bearer ${API_KEY}`, ...(init.headers as Record<string, string>) },
      });
    return { listener, follow };
  }

  test('A hundred readers of one job share its two subscriptions, and leave none when they disconnect', async () => {
    const world = await apiWorld(server.url);
    const { follow } = await served(world);
    const { id } = await world.post();
    const hangUp = new AbortController();
    const readers = await Promise.all(
      Array.from({ length: 100 }, async () => readEvents(await follow(id, { signal: hangUp.signal }))),
    );
    await Promise.all(readers.map((reader) => reader.next()));
    await feedsOpen(world, 100);
    expect(world.channels.size).toBe(2);
    hangUp.abort();
    await expectNothingLeft(world);
  });

  test('A HEAD request for events opens no stream', async () => {
    const world = await apiWorld(server.url);
    const { follow } = await served(world);
    const { id } = await world.post();
    const response = await follow(id, { method: 'HEAD' });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(world.parts.feeds.size).toBe(0);
    expect(world.channels.size).toBe(0);
  });

  test('When a server stops, it ends its streams without an error', async () => {
    const world = await apiWorld(server.url);
    const { listener, follow } = await served(world);
    const { id } = await world.post();
    const events = readEvents(await follow(id));
    await events.next();
    const rest = events.next();
    world.parts.feeds.stop();
    const closed = listener.close(30_000);
    expect(await rest).toMatchObject({ done: true });
    await closed;
    await expectNothingLeft(world);
  });

  test('The fetch example in docs/events.md reads a stream', async () => {
    const world = await apiWorld(server.url);
    const { listener } = await served(world);
    const id = await finishedJob(world);
    const text = await readFile(new URL('../../docs/events.md', import.meta.url), 'utf8');
    const [, code] = /```js fetch\n(.*?)```/s.exec(text) ?? [];
    const eventsOf = new Function('LEHR_URL', 'LEHR_API_KEY', `${code} return eventsOf;`)(
      `http://127.0.0.1:${listener.port}`,
      API_KEY,
    );
    const received: unknown[] = [];
    for await (const event of eventsOf(id, '2')) received.push([event.id, event.type, event.data.id]);
    expect(received).toEqual(TYPES.slice(2).map((type, i) => [`${i + 3}`, type, id]));
    for await (const event of eventsOf(id, '6')) expect(event).toBeUndefined();
  });

  test('Fifty readers that lose their connections at random each get every event and the end exactly once', {
    tags: ['long'],
  }, async () => {
    const world = await apiWorld(server.url);
    const { follow } = await served(world);
    const { id } = await world.post();
    const claim = await world.worker.take();
    let seed = 7;
    const random = () => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647;
    };
    const reader = async (): Promise<StreamedEvent[]> => {
      const seen: StreamedEvent[] = [];
      for (;;) {
        const response = await follow(id, { headers: { 'last-event-id': seen.at(-1)?.id ?? '0' } });
        if (response.status === 204) return seen;
        let left = Math.floor(random() * 5);
        for await (const event of readEvents(response)) {
          seen.push(event);
          left -= 1;
          if (left < 0) break;
        }
      }
    };
    const readers = Array.from({ length: 50 }, reader);
    for (let step = 1; step <= 40; step++) await world.worker.progress(claim, step, 40);
    await world.worker.succeed(claim);
    for (const seen of await Promise.all(readers)) {
      expect(seen.map((event) => Number(event.id))).toEqual(Array.from({ length: 43 }, (_, i) => i + 1));
      expect(seen.filter(({ event }) => event === 'job.succeeded')).toHaveLength(1);
    }
    await expectNothingLeft(world);
  });
});

describe('previews', () => {
  const preview = (id: string, step: number): Extract<JobEvent, { type: 'job.preview' }>['data'] => ({
    id,
    step,
    steps: 8,
    index: 0,
    content_type: 'image/webp',
    data: Buffer.from(`picture ${step}`).toString('base64'),
  });

  test('Previews are sent as they are made, without an id, and a late reader gets the newest one at once', async () => {
    const world = await apiWorld(server.url);
    const { redis, keys } = world.parts;
    const { id } = await world.post();
    const claim = await world.worker.take();
    const events = readEvents(await open(world, id, '?after=2'));
    const first = events.next();
    await feedsOpen(world, 1);
    await expect.poll(() => redis.exists(keys.watched(claim.jobId))).toBe(1);
    await showPreview(redis, keys, [claim.jobId], preview(id, 1));
    expect((await first).value).toEqual({
      event: 'job.preview',
      data: { type: 'job.preview', timestamp: expect.any(String), data: preview(id, 1) },
    });
    const late = readEvents(await open(world, id, '?after=2'));
    expect((await late.next()).value).toMatchObject({ event: 'job.preview', data: { data: { step: 1 } } });
    await showPreview(redis, keys, [claim.jobId], preview(id, 2));
    for (const reader of [events, late]) {
      expect((await reader.next()).value).toMatchObject({
        event: 'job.preview',
        data: { data: { step: 2 } },
      });
    }
    await world.worker.succeed(claim);
    for (const reader of [events, late]) {
      expect((await reader.next()).value).toMatchObject({ event: 'job.succeeded', id: '3' });
    }
    await expectNothingLeft(world);
  });

  test('Previews are neither sent to nor made for a reader that does not want them', async () => {
    const world = await apiWorld(server.url);
    const { redis, keys } = world.parts;
    const { id } = await world.post();
    const claim = await world.worker.take();
    const events = readEvents(await open(world, id, '?previews=false&after=2'));
    const next = events.next();
    await feedsOpen(world, 1);
    await showPreview(redis, keys, [claim.jobId], preview(id, 1));
    await world.worker.progress(claim, 1);
    expect((await next).value).toMatchObject({ event: 'job.progress' });
    expect(await redis.exists(keys.watched(claim.jobId))).toBe(0);
    await events.return(undefined);
  });

  test('A worker learns of a reader from the reply to its next start or progress move', async () => {
    const world = await apiWorld(server.url);
    const { records } = world.parts;
    const { id } = await world.post();
    const claim = await world.worker.take();
    const fields = { progress: { fraction: 0.5, stage: 'denoise', step: 4, steps: 8 } };
    const move = { move: 'progress', id: claim.jobId, lease: claim.token, fields } as const;
    expect(await records.apply([move])).toMatchObject([{ code: 'ok', watched: false }]);
    const events = readEvents(await open(world, id, '?after=3'));
    const next = events.next();
    await expect.poll(() => world.parts.redis.exists(world.parts.keys.watched(claim.jobId))).toBe(1);
    expect(await records.apply([move])).toMatchObject([{ code: 'ok', watched: true }]);
    await next;
    await events.return(undefined);
  });
});
