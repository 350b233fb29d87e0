/** The SDK against a whole Lehr: an API process, a worker with a tiny model, and a faulty network. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type FollowedEvent, type Job, Lehr, LehrError } from '../../packages/client/src/index.ts';
import { startLehr } from '../support/lehr-process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { SLOW_MACHINE } from '../support/timeouts.ts';
import { tempFolder, tinyModels } from '../support/tiny-models.ts';
import { faultyProxy } from './faulty-proxy.ts';
import { servedApi } from './served-api.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const clientOf = ({ url, key: apiKey }: Pick<Stack, 'url' | 'key'>) => new Lehr({ url, apiKey });
const PICTURE = { type: 'text-to-image', input: { prompt: 'a red circle', seed: 7, steps: 4 } } as const;

async function idsOf(lehr: Lehr): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of lehr.list()) ids.push(id);
  return ids;
}

async function eventsOf(stream: AsyncIterable<FollowedEvent>): Promise<FollowedEvent[]> {
  const events: FollowedEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

const errorOf = async (promise: Promise<unknown>): Promise<LehrError> => {
  const error = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(LehrError);
  return error as LehrError;
};

describe('The SDK with a worker', { timeout: 120_000 }, () => {
  test('A job is created, followed over a cut connection, downloaded and deleted', {
    tags: ['long'],
  }, async () => {
    const stack = await startStack(server);
    const proxy = await faultyProxy(stack.url);
    const lehr = clientOf({ ...stack, url: proxy.url });
    const job = await lehr.submit(PICTURE);
    expect(job).toMatchObject({ status: 'queued', type: 'text-to-image', input: { seed: 7 } });
    proxy.inject({ cutAfter: 1 }, 'refuse');
    const followed = eventsOf(lehr.stream(job.id));
    await proxy.received(4);
    await stack.worker();
    const types = (await followed).map(({ type }) => type);
    expect(types.slice(0, 2)).toEqual(['job.queued', 'job.started']);
    expect(types.at(-1)).toBe('job.succeeded');
    const done = await lehr.wait(job.id);
    expect(done).toMatchObject({ id: job.id, status: 'succeeded' });
    const [image] = done.output?.images ?? [];
    const bytes = await lehr.download(image!);
    expect(Buffer.from(bytes.subarray(1, 4)).toString()).toBe('PNG');
    expect(bytes.byteLength).toBe(image!.bytes);
    const other = lehr.download({ ...image!, sha256: '0'.repeat(64) });
    expect(await errorOf(other)).toMatchObject({ code: 'bad-answer' });
    expect(await lehr.delete(job.id)).toBeUndefined();
    expect(await errorOf(lehr.get(job.id))).toMatchObject({
      code: 'not-found',
      status: 404,
      retryable: false,
    });
    const { status, output } = await lehr.run(PICTURE);
    expect(status).toBe('succeeded');
    expect(output.images).toHaveLength(1);
  });

  test('wait, submit and stream survive a kill -9 and a restart of the API', { tags: ['long'] }, async () => {
    const { stack, restart } = await restartable();
    const lehr = clientOf(stack);
    const { id } = await lehr.submit(PICTURE);
    const waiting = lehr.wait(id);
    const events: FollowedEvent[] = [];
    const streaming = (async () => {
      for await (const event of lehr.stream(id)) events.push(event);
    })();
    stack.api.signal('SIGKILL');
    await stack.api.exited();
    const submitting = lehr.submit(PICTURE);
    await restart();
    const second = await submitting;
    expect(await idsOf(lehr)).toEqual([second.id, id]);
    await stack.worker();
    expect(await waiting).toMatchObject({ id, status: 'succeeded' });
    await streaming;
    const types = events.map(({ type }) => type).filter((type) => !/progress|preview/.test(type));
    expect(types).toEqual(['job.queued', 'job.started', 'job.succeeded']);
  });
});

describe('The SDK without a worker', () => {
  test('A retry after a lost answer does not create a second job', async () => {
    const api = await servedApi(server.url);
    const proxy = await faultyProxy(api.url);
    proxy.inject('lose-answer', 'lose-answer');
    const job = await clientOf({ ...api, url: proxy.url }).submit(PICTURE);
    const keys = proxy.requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    expect(await idsOf(clientOf(api))).toEqual([job.id]);
  });

  test('Two submissions with the same idempotency key create one job; without a key they create two', async () => {
    const lehr = clientOf(await servedApi(server.url));
    const first = await lehr.submit(PICTURE, { idempotencyKey: 'order-81' });
    expect((await lehr.submit(PICTURE, { idempotencyKey: 'order-81' })).id).toBe(first.id);
    const other = { ...PICTURE, input: { prompt: 'a blue circle' } };
    expect(await errorOf(lehr.submit(other, { idempotencyKey: 'order-81' }))).toMatchObject({
      code: 'idempotency-mismatch',
      status: 422,
    });
    await Promise.all([lehr.submit(PICTURE), lehr.submit(PICTURE)]);
    expect(await idsOf(lehr)).toHaveLength(3);
  });

  test('A stream yields every event once and in order, although its connection breaks', async () => {
    const api = await servedApi(server.url);
    const proxy = await faultyProxy(api.url);
    const lehr = clientOf({ ...api, url: proxy.url });
    const { id } = await lehr.submit(PICTURE);
    proxy.inject({ cutAfter: 1 }, 'refuse', { cutAfter: 2 }, { cutAfter: 1 });
    const followed = eventsOf(lehr.stream(id));
    await proxy.received(4);
    const claim = await api.worker.take();
    await api.worker.progress(claim, 1);
    await proxy.received(5);
    await api.worker.progress(claim, 2);
    await proxy.received(6);
    await api.worker.progress(claim, 3);
    await api.worker.succeed(claim);
    const events = await followed;
    const types = events.map(({ type }) => type);
    expect(types.slice(0, 2)).toEqual(['job.queued', 'job.started']);
    expect(types.at(-1)).toBe('job.succeeded');
    expect(types.slice(2, -1).every((type) => type === 'job.progress')).toBe(true);
    const ids = events.map((event) => event.id);
    const streams = proxy.requests.filter(({ path }) => path.includes('/events'));
    expect(streams.slice(0, 4).map(({ headers }) => headers['last-event-id'])).toEqual([
      undefined,
      ids[0],
      ids[0],
      ids[2],
    ]);
    // A stream without faults yields the same events, and one with `after` only the later ones.
    expect((await eventsOf(lehr.stream(id))).map((event) => event.id)).toEqual(ids);
    expect((await eventsOf(lehr.stream(id, { after: ids.at(-2) }))).map(({ type }) => type)).toEqual([
      'job.succeeded',
    ]);
    expect(await eventsOf(lehr.stream(id, { after: ids.at(-1) }))).toEqual([]);
  });

  test('Leaving or aborting a stream closes its connection; the job continues until it is canceled', async () => {
    const api = await servedApi(server.url);
    const lehr = clientOf(api);
    const { id } = await lehr.submit(PICTURE);
    for await (const event of lehr.stream(id)) if (event.type === 'job.queued') break;
    const abort = new AbortController();
    const following = (async () => {
      for await (const event of lehr.stream(id, { signal: abort.signal })) {
        if (event.type === 'job.started') abort.abort(new Error('enough'));
      }
    })();
    await api.worker.take();
    await expect(following).rejects.toThrow('enough');
    await vi.waitFor(() => expect(api.channels.size).toBe(0), SLOW_MACHINE);
    expect((await lehr.get(id)).status).toBe('running');
    expect((await lehr.cancel(id)).id).toBe(id);
  });

  test('An abort ends every call at once with the reason of the signal', async () => {
    const api = await servedApi(server.url);
    const proxy = await faultyProxy(api.url);
    const { id } = await clientOf(api).submit(PICTURE);
    const lehr = clientOf({ ...api, url: proxy.url });
    const calls: ((signal: AbortSignal) => Promise<unknown>)[] = [
      (signal) => lehr.submit(PICTURE, { signal }),
      (signal) => lehr.get(id, { signal }),
      (signal) => lehr.wait(id, { signal }),
      (signal) => lehr.cancel(id, { signal }),
      (signal) => lehr.delete(id, { signal }),
      (signal) => lehr.page({ signal }),
      (signal) => lehr.list({ signal }).next(),
      (signal) => lehr.models({ signal }),
      (signal) => lehr.queues({ signal }),
      (signal) => lehr.keys.list({ signal }),
      (signal) => lehr.stream(id, { signal }).next(),
    ];
    for (const [i, call] of calls.entries()) {
      const abort = new AbortController();
      proxy.inject('hang');
      const called = call(abort.signal);
      await proxy.received(i + 1);
      abort.abort(new Error('never mind'));
      await expect(called).rejects.toThrow('never mind');
    }
    // Also before the call starts, and during the delay before a retry.
    await expect(lehr.get(id, { signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no');
    const abort = new AbortController();
    proxy.inject({ status: 503, headers: { 'retry-after': '30' } });
    const called = lehr.get(id, { signal: abort.signal });
    await proxy.received(calls.length + 1);
    abort.abort(new Error('too long'));
    await expect(called).rejects.toThrow('too long');
  });

  test('A wait ends at its timeout; the job continues', async () => {
    const lehr = clientOf(await servedApi(server.url));
    const { id } = await lehr.submit(PICTURE);
    const error = await errorOf(lehr.wait(id, { timeoutMs: 300 }));
    expect(error).toMatchObject({ code: 'timed-out', jobId: id, retryable: true });
    expect(await errorOf(lehr.submit(PICTURE, { wait: true, timeoutMs: 300 }))).toMatchObject({
      code: 'timed-out',
    });
    expect((await lehr.get(id)).status).toBe('queued');
    const { id: canceled } = await lehr.submit(PICTURE, { idempotencyKey: 'mine' });
    const running = errorOf(lehr.run(PICTURE, { idempotencyKey: 'mine' }));
    await lehr.cancel(canceled);
    expect(await running).toMatchObject({ code: 'job-canceled', jobId: canceled });
  });

  test('A list returns all pages, newest first, and requests no page that is not read', async () => {
    const api = await servedApi(server.url);
    const proxy = await faultyProxy(api.url);
    const lehr = clientOf({ ...api, url: proxy.url });
    const made: Job[] = [];
    for (let i = 0; i < 5; i += 1) made.unshift(await lehr.submit(PICTURE));
    await lehr.cancel(made[1].id);
    const ids: string[] = [];
    for await (const { id } of lehr.list({ limit: 2 })) ids.push(id);
    expect(ids).toEqual(made.map(({ id }) => id));
    const canceled: string[] = [];
    for await (const { id } of lehr.list({ status: 'canceled' })) canceled.push(id);
    expect(canceled).toEqual([made[1].id]);
    const before = proxy.requests.length;
    for await (const { id } of lehr.list({ limit: 2 })) if (id === made[1].id) break;
    expect(proxy.requests.length - before).toBe(1);
  });

  test('A refusal names the invalid field and is not retried', async () => {
    const api = await servedApi(server.url);
    const proxy = await faultyProxy(api.url);
    const lehr = clientOf({ ...api, url: proxy.url });
    const error = await errorOf(lehr.submit({ type: 'text-to-image', input: { prompt: 'x', steps: 0 } }));
    expect(error).toMatchObject({
      code: 'invalid-input',
      status: 422,
      title: 'Invalid input',
      retryable: false,
    });
    expect(error.problems).toEqual([{ pointer: '/input/steps', detail: 'must be at least 1' }]);
    expect(error.requestId).toMatch(/.{8}/);
    expect(proxy.requests).toHaveLength(1);
    const stranger = new Lehr({ url: api.url, apiKey: 'lehr_test_nobody_knows_this_one' });
    expect(await errorOf(stranger.models())).toMatchObject({ code: 'unauthenticated', status: 401 });
    expect(await errorOf(lehr.get('job_00000000000000000000000000'))).toMatchObject({ code: 'not-found' });
  });

  test('models, queues and keys return what the API lists', async () => {
    const lehr = clientOf(await servedApi(server.url));
    expect(await lehr.models()).toMatchObject([{ id: 'tiny', default: true }, { id: 'split' }]);
    await lehr.submit(PICTURE);
    expect(await lehr.queues()).toMatchObject({ data: [{ waiting: 1, workers: 0 }] });
    const made = await lehr.keys.create({ tenant: 'acme', name: 'render farm' });
    expect(made.key).toMatch(/^lehr_live_/);
    expect(await lehr.keys.list()).toMatchObject([{ id: made.id, tenant: 'acme' }]);
    await lehr.keys.revoke(made.id);
    expect(await lehr.keys.list()).toEqual([]);
    expect(await errorOf(lehr.keys.revoke(made.id))).toMatchObject({ code: 'not-found' });
  });

  test('audit yields the entries of all pages, newest first', async () => {
    const lehr = clientOf(await servedApi(server.url));
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.unshift((await lehr.keys.create({ tenant: 'acme' })).id);
    const targets: (string | null)[] = [];
    for await (const { target } of lehr.audit({ tenant: 'acme', limit: 2 })) targets.push(target);
    expect(targets).toEqual(ids);
  });

  test('usage and usageCsv return the use of days', async () => {
    const lehr = clientOf(await servedApi(server.url));
    await lehr.cancel((await lehr.submit(PICTURE)).id);
    const { rows, total, tenants } = await lehr.usage({ by: 'tenant,model' });
    expect(rows).toMatchObject([{ tenant: 'default', jobs: 1, canceled: 1 }]);
    expect([total.jobs, tenants.length]).toEqual([1, 1]);
    expect(await lehr.usageCsv({ by: 'tenant' })).toMatch(/^tenant,jobs,.*\r\ndefault,1,/);
  });

  test('A deletion whose answer was lost succeeds', async () => {
    const api = await servedApi(server.url);
    const proxy = await faultyProxy(api.url);
    const lehr = clientOf({ ...api, url: proxy.url });
    const { id } = await lehr.submit(PICTURE);
    expect(await lehr.delete(id)).toMatchObject({ id, status: 'canceled' });
    proxy.inject('lose-answer');
    expect(await lehr.delete(id)).toBeUndefined();
    expect(await errorOf(lehr.delete(id))).toMatchObject({ code: 'not-found' });
    // A retry would create a second key, so this call is not retried.
    proxy.inject('lose-answer');
    const before = proxy.requests.length;
    expect(await errorOf(lehr.keys.create({ tenant: 'acme' }))).toMatchObject({ code: 'connection-failed' });
    expect(proxy.requests.length - before).toBe(1);
  });

  test('A retry waits exactly as long as Retry-After says, and a Retry-After that is too long is an error', async () => {
    const api = await servedApi(server.url);
    const proxy = await faultyProxy(api.url);
    const lehr = clientOf({ ...api, url: proxy.url });
    proxy.inject({ status: 429, headers: { 'retry-after': '1' } }, { status: 503 }, { status: 502 });
    await lehr.models();
    const [first, second] = proxy.requests;
    expect(second.at - first.at).toBeGreaterThanOrEqual(1000);
    expect(proxy.requests).toHaveLength(4);
    proxy.inject({ status: 503, headers: { 'retry-after': '600' } });
    expect(await errorOf(lehr.models())).toMatchObject({
      code: 'unavailable',
      status: 503,
      retryAfterMs: 600_000,
      retryable: true,
    });
    proxy.inject({ status: 500, body: '<html>oops</html>' });
    expect(await errorOf(lehr.models())).toMatchObject({ code: 'internal', status: 500 });
    expect(proxy.requests).toHaveLength(6);
  });

  test('A server that is not Lehr is recognized by its answers', async () => {
    const api = await servedApi(server.url);
    const proxy = await faultyProxy(api.url);
    const lehr = clientOf({ ...api, url: proxy.url });
    // fetch would follow this redirect with a GET.
    proxy.inject({ status: 301, headers: { location: `${api.url}/v1/jobs` } });
    expect(await errorOf(lehr.submit(PICTURE))).toMatchObject({
      code: 'bad-answer',
      message: expect.stringContaining(`redirects to ${api.url}`),
    });
    proxy.inject({ status: 200, body: '<html>Welcome</html>' });
    expect(await errorOf(lehr.models())).toMatchObject({ code: 'bad-answer', status: 200 });
  });
});

/** A stack whose API can be restarted on the same port. */
async function restartable(): Promise<{ stack: Stack; restart(): Promise<void> }> {
  const env = { LEHR_HOME: await tempFolder('home'), LEHR_MODELS: await tinyModels() };
  const stack = await startStack(server, env);
  return {
    stack,
    restart: async () => {
      const again = startLehr('api', {
        ...env,
        LEHR_REDIS_URL: server.url,
        LEHR_NAMESPACE: stack.namespace,
        LEHR_PORT: new URL(stack.url).port,
        LEHR_API_KEY: stack.key,
      });
      await again.logged('API is listening');
    },
  };
}
