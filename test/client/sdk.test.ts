/** The SDK against the whole of Lehr: an API process, a worker on a tiny model, and a network that loses things. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FollowedEvent, type Job, Lehr, LehrError } from '../../packages/client/src/index.ts';
import { startLehr } from '../support/lehr-process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { tempFolder, tinyModels } from '../support/tiny-models.ts';
import { faultyProxy } from './faulty-proxy.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const clientOf = ({ url, key: apiKey }: Pick<Stack, 'url' | 'key'>) => new Lehr({ url, apiKey });
const PICTURE = { type: 'text-to-image', input: { prompt: 'a red circle', seed: 7, steps: 4 } } as const;
/** On a tiny model some seconds of work. */
const LONG = { type: 'text-to-image', input: { prompt: 'a red circle', steps: 900, n: 8 } } as const;

async function idsOf(lehr: Lehr): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of lehr.list()) ids.push(id);
  return ids;
}

const failure = async (promise: Promise<unknown>): Promise<LehrError> => {
  const error = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(LehrError);
  return error as LehrError;
};

describe('with a worker', () => {
  test('a picture is asked for, waited for and downloaded; then its job is forgotten', async () => {
    const stack = await startStack(server);
    await stack.worker();
    const lehr = clientOf(stack);
    const job = await lehr.submit(PICTURE);
    expect(job).toMatchObject({ status: 'queued', type: 'text-to-image', input: { seed: 7 } });
    const done = await lehr.wait(job.id);
    expect(done).toMatchObject({ id: job.id, status: 'succeeded' });
    const [image] = done.output?.images ?? [];
    const bytes = await lehr.download(image!);
    expect(Buffer.from(bytes.subarray(1, 4)).toString()).toBe('PNG');
    expect(bytes.byteLength).toBe(image!.bytes);
    expect(await lehr.get(job.id)).toMatchObject({ status: 'succeeded' });
    expect(await lehr.delete(job.id)).toBeUndefined();
    expect(await failure(lehr.get(job.id))).toMatchObject({
      code: 'not-found',
      status: 404,
      retryable: false,
    });
  });

  test('run answers with a job that has its output', async () => {
    const stack = await startStack(server);
    await stack.worker();
    const { status, output } = await clientOf(stack).run(PICTURE);
    expect(status).toBe('succeeded');
    expect(output.images).toHaveLength(1);
  });

  test('a stream tells everything once, in order, over connections that break', async () => {
    const stack = await startStack(server);
    const proxy = await faultyProxy(stack.url);
    const lehr = clientOf({ ...stack, url: proxy.url });
    const job = await lehr.submit(LONG);
    proxy.fate({ cutAfter: 1 }, 'refuse', { cutAfter: 3 });
    const events: FollowedEvent[] = [];
    const followed = (async () => {
      for await (const event of lehr.stream(job.id, { previews: false })) events.push(event);
    })();
    await proxy.came(4);
    await stack.worker();
    await followed;
    const types = events.map(({ type }) => type);
    expect(types.slice(0, 2)).toEqual(['job.queued', 'job.started']);
    expect(types.at(-1)).toBe('job.succeeded');
    expect(types.filter((type) => type !== 'job.progress')).toHaveLength(3);
    const ids = events.map(({ id }) => Number(id));
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    const streams = proxy.requests.filter(({ path }) => path.includes('/events'));
    expect(streams.length).toBeGreaterThanOrEqual(4);
    expect(streams[0].headers).not.toHaveProperty('last-event-id');
    expect(streams[1].headers['last-event-id']).toBe(events[0].id);
    // Nothing a client that was never cut off would have heard is missing.
    const whole: FollowedEvent[] = [];
    for await (const event of clientOf(stack).stream(job.id)) whole.push(event);
    expect(ids).toEqual(whole.map(({ id }) => Number(id)));
    // From an event on, and after the end, there is only what came later.
    const late: FollowedEvent[] = [];
    for await (const event of lehr.stream(job.id, { after: whole.at(-2)?.id })) late.push(event);
    expect(late.map(({ type }) => type)).toEqual(['job.succeeded']);
    for await (const event of lehr.stream(job.id, { after: whole.at(-1)?.id })) late.push(event);
    expect(late).toHaveLength(1);
  });

  test('leaving a stream, or aborting it, hangs up; the job goes on', async () => {
    const stack = await startStack(server);
    const lehr = clientOf(stack);
    await stack.worker();
    const { id } = await lehr.submit(LONG);
    for await (const event of lehr.stream(id)) if (event.type === 'job.started') break;
    const abort = new AbortController();
    const following = (async () => {
      for await (const event of lehr.stream(id, { signal: abort.signal })) {
        if (event.type === 'job.progress') abort.abort(new Error('enough'));
      }
    })();
    await expect(following).rejects.toThrow('enough');
    expect((await lehr.get(id)).status).toBe('running');
    expect((await lehr.cancel(id)).id).toBe(id);
    expect(await lehr.wait(id)).toMatchObject({ status: 'canceled' });
  });
});

describe('with nobody to do the work', () => {
  test('a lost answer costs no second job', async () => {
    const stack = await startStack(server);
    const proxy = await faultyProxy(stack.url);
    proxy.fate('lose-answer', 'lose-answer');
    const job = await clientOf({ ...stack, url: proxy.url }).submit(PICTURE);
    const keys = proxy.requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    expect(await idsOf(clientOf(stack))).toEqual([job.id]);
  });

  test('two submissions with one key of your own are one job; with none, they are two', async () => {
    const lehr = clientOf(await startStack(server));
    const first = await lehr.submit(PICTURE, { idempotencyKey: 'order-81' });
    expect((await lehr.submit(PICTURE, { idempotencyKey: 'order-81' })).id).toBe(first.id);
    const other = { ...PICTURE, input: { prompt: 'a blue circle' } };
    expect(await failure(lehr.submit(other, { idempotencyKey: 'order-81' }))).toMatchObject({
      code: 'idempotency-mismatch',
      status: 422,
    });
    await Promise.all([lehr.submit(PICTURE), lehr.submit(PICTURE)]);
    expect(await idsOf(lehr)).toHaveLength(3);
  });

  test('waits, submissions and streams survive a restart of the API', async () => {
    const { stack, restart } = await restartable();
    const lehr = clientOf(stack);
    const { id } = await lehr.submit(PICTURE);
    const waiting = lehr.wait(id);
    const events: FollowedEvent[] = [];
    const heard = (async () => {
      for await (const event of lehr.stream(id)) events.push(event);
    })();
    stack.api.signal('SIGKILL');
    await stack.api.exited();
    const submitting = lehr.submit(PICTURE);
    await restart();
    const second = await submitting;
    await lehr.cancel(id);
    expect(await waiting).toMatchObject({ id, status: 'canceled' });
    await heard;
    expect(events.map(({ type }) => type)).toEqual(['job.queued', 'job.canceled']);
    expect(await idsOf(lehr)).toEqual([second.id, id]);
  });

  test('an abort ends each call at once with its reason', async () => {
    const stack = await startStack(server);
    const proxy = await faultyProxy(stack.url);
    const { id } = await clientOf(stack).submit(PICTURE);
    const lehr = clientOf({ ...stack, url: proxy.url });
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
      proxy.fate('hang');
      const called = call(abort.signal);
      await proxy.came(i + 1);
      abort.abort(new Error('never mind'));
      await expect(called).rejects.toThrow('never mind');
    }
    // Before it begins, and while it waits to try again.
    await expect(lehr.get(id, { signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no');
    const abort = new AbortController();
    proxy.fate({ status: 503, headers: { 'retry-after': '30' } });
    const called = lehr.get(id, { signal: abort.signal });
    await proxy.came(calls.length + 1);
    abort.abort(new Error('too long'));
    await expect(called).rejects.toThrow('too long');
  });

  test('a wait has an end when it is given one; the job goes on', async () => {
    const lehr = clientOf(await startStack(server));
    const { id } = await lehr.submit(PICTURE);
    const error = await failure(lehr.wait(id, { timeoutMs: 300 }));
    expect(error).toMatchObject({ code: 'timed-out', jobId: id, retryable: true });
    expect(await failure(lehr.submit(PICTURE, { wait: true, timeoutMs: 300 }))).toMatchObject({
      code: 'timed-out',
    });
    expect((await lehr.get(id)).status).toBe('queued');
    const { id: canceled } = await lehr.submit(PICTURE, { idempotencyKey: 'mine' });
    const running = failure(lehr.run(PICTURE, { idempotencyKey: 'mine' }));
    await lehr.cancel(canceled);
    expect(await running).toMatchObject({ code: 'job-canceled', jobId: canceled });
  });

  test('a list goes over its pages, newest first, and stops asking when nobody reads on', async () => {
    const stack = await startStack(server);
    const proxy = await faultyProxy(stack.url);
    const lehr = clientOf({ ...stack, url: proxy.url });
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

  test('a refusal says what is wrong with which field, and is not tried again', async () => {
    const stack = await startStack(server);
    const proxy = await faultyProxy(stack.url);
    const lehr = clientOf({ ...stack, url: proxy.url });
    const error = await failure(lehr.submit({ type: 'text-to-image', input: { prompt: 'x', steps: 0 } }));
    expect(error).toMatchObject({
      code: 'invalid-input',
      status: 422,
      title: 'Invalid input',
      retryable: false,
    });
    expect(error.problems).toEqual([{ pointer: '/input/steps', detail: 'must be at least 1' }]);
    expect(error.requestId).toMatch(/.{8}/);
    expect(proxy.requests).toHaveLength(1);
    const nobody = new Lehr({ url: stack.url, apiKey: 'lehr_test_nobody_knows_this_one' });
    expect(await failure(nobody.models())).toMatchObject({ code: 'unauthenticated', status: 401 });
    expect(await failure(lehr.get('job_00000000000000000000000000'))).toMatchObject({ code: 'not-found' });
  });

  test('models, queues and keys', async () => {
    const lehr = clientOf(await startStack(server));
    expect(await lehr.models()).toMatchObject([{ id: 'tiny', default: true }]);
    await lehr.submit(PICTURE);
    expect(await lehr.queues()).toMatchObject({ data: [{ waiting: 1, workers: 0 }] });
    const made = await lehr.keys.create({ tenant: 'acme', name: 'render farm' });
    expect(made.key).toMatch(/^lehr_live_/);
    expect(await lehr.keys.list()).toMatchObject([{ id: made.id, tenant: 'acme' }]);
    await lehr.keys.revoke(made.id);
    expect(await lehr.keys.list()).toEqual([]);
    expect(await failure(lehr.keys.revoke(made.id))).toMatchObject({ code: 'not-found' });
  });

  test('a deletion whose answer was lost is done', async () => {
    const stack = await startStack(server);
    const proxy = await faultyProxy(stack.url);
    const lehr = clientOf({ ...stack, url: proxy.url });
    const { id } = await lehr.submit(PICTURE);
    expect(await lehr.delete(id)).toMatchObject({ id, status: 'canceled' });
    proxy.fate('lose-answer');
    expect(await lehr.delete(id)).toBeUndefined();
    expect(await failure(lehr.delete(id))).toMatchObject({ code: 'not-found' });
    // Of a key that was made and lost nobody would know, so this is not tried twice.
    proxy.fate('lose-answer');
    const before = proxy.requests.length;
    expect(await failure(lehr.keys.create({ tenant: 'acme' }))).toMatchObject({ code: 'connection-failed' });
    expect(proxy.requests.length - before).toBe(1);
  });

  test('Retry-After is obeyed to the second, and one that is too long is reported instead', async () => {
    const stack = await startStack(server);
    const proxy = await faultyProxy(stack.url);
    const lehr = clientOf({ ...stack, url: proxy.url });
    proxy.fate({ status: 429, headers: { 'retry-after': '1' } }, { status: 503 }, { status: 502 });
    await lehr.models();
    const [first, second] = proxy.requests;
    expect(second.at - first.at).toBeGreaterThanOrEqual(1000);
    expect(proxy.requests).toHaveLength(4);
    proxy.fate({ status: 503, headers: { 'retry-after': '600' } });
    expect(await failure(lehr.models())).toMatchObject({
      code: 'unavailable',
      status: 503,
      retryAfterMs: 600_000,
      retryable: true,
    });
    proxy.fate({ status: 500, body: '<html>oops</html>' });
    expect(await failure(lehr.models())).toMatchObject({ code: 'internal', status: 500 });
    expect(proxy.requests).toHaveLength(6);
  });
});

/** A stack whose API can be started again on its port. */
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
      await again.said('API is listening');
    },
  };
}
