import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Streams } from '../../apps/api/src/follow/streams.ts';
import {
  type Clock,
  DEFAULT_LIMITS,
  DEFAULT_TENANT,
  systemClock,
  type TenantId,
} from '../../packages/shared/src/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { type ApiWorld, apiWorld, jobOf, PUBLIC_URL, problemOf } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** 8 steps with guidance at 64x64 are 16 row-steps: 160 ms at the 100 per second that the fleet reports here. */
const LANE = { queue: 'diffusion.tiny@1.64x64', rows: 0, row_cap: 8, samples: 0, row_steps_per_s: 100 };
const drawing = (input: object = {}) => ({ type: 'text-to-image', input: { prompt: 'a circle', ...input } });

/** A clock that stands still, so that penalties do not run out on a slow machine. */
const STILL: Clock = { ...systemClock, monotonic: () => 0 };

async function worldAt100(changes: Parameters<typeof apiWorld>[1] = {}): Promise<ApiWorld> {
  const world = await apiWorld(server.url, changes);
  await world.worker.report({ lanes: [LANE] });
  return world;
}

const numbersOf = ({ headers }: Response) => ({
  limit: Number(headers.get('ratelimit-limit')),
  remaining: Number(headers.get('ratelimit-remaining')),
  reset: Number(headers.get('ratelimit-reset')),
  retry: Number(headers.get('retry-after')),
});

async function expectRefusal(response: Response): Promise<void> {
  expect(response.status).toBe(429);
  expect(await problemOf(response)).toMatchObject({ type: 'urn:lehr:problem:rate-limited' });
  const { retry } = numbersOf(response);
  expect(retry).toBeGreaterThanOrEqual(1);
  expect(retry).toBeLessThanOrEqual(60);
}

describe('groups', () => {
  test('A tenant that uses as many groups as it may is refused another one, and keeps those that it uses', async () => {
    const world = await worldAt100({ maxGroups: 2 });
    const { ask } = await keyHolder(world, 'acme');
    const statusOf = async (input: object): Promise<number> =>
      (await ask('POST', '/v1/jobs', drawing(input))).status;
    expect(await statusOf({ width: 32 })).toBe(202);
    expect(await statusOf({ width: 40 })).toBe(202);
    const refused = await ask('POST', '/v1/jobs', drawing({ width: 48 }));
    const problem = await problemOf(refused.clone());
    await expectRefusal(refused);
    expect(problem.detail).toContain('2 combinations of model and picture size within 60 minutes');
    expect(await statusOf({ width: 40 })).toBe(202);
    const nodes = [32, 48].map((width, i) => ({
      id: `n${i}`,
      type: 'text-to-image',
      input: { prompt: 'x', width },
    }));
    expect((await ask('POST', '/v1/jobs', { type: 'workflow', nodes })).status).toBe(429);
    expect((await world.parts.redis.smembers(world.parts.keys.groups)).length).toBe(2);
    const other = await keyHolder(world, 'umbra');
    expect((await other.ask('POST', '/v1/jobs', drawing({ width: 48 }))).status).toBe(202);
  });

  test('A group that a tenant no longer uses makes room for another one', async () => {
    const world = await worldAt100({ maxGroups: 1 });
    await world.post({ width: 32 });
    const groups = world.parts.keys.groupsOf(DEFAULT_TENANT as TenantId);
    await world.parts.redis.zadd(groups, 1, 'diffusion.tiny@1.32x64');
    await world.post({ width: 40 });
    expect(await world.parts.redis.zrange(groups, '0', '-1')).toEqual(['diffusion.tiny@1.40x64']);
  });
});

describe('budget of engine seconds', () => {
  test('The estimated cost of a job is taken from the budget, which every answer shows', async () => {
    const world = await worldAt100();
    const { ask } = await keyHolder(world, 'acme', { limits: { cost_per_minute_s: 3 } });
    const startedAt = await redisNow(world.parts.redis);
    // 100 row-steps, which take one second.
    const first = await ask('POST', '/v1/jobs', drawing({ steps: 50 }));
    expect(first.status).toBe(202);
    expect(numbersOf(first)).toMatchObject({ limit: 3, remaining: 2, reset: 20 });
    expect(first.headers.get('ratelimit-policy')).toBe('3;w=60;comment="engine seconds"');
    // A job may cost more than is left; the rest is owed.
    const large = await ask('POST', '/v1/jobs', drawing({ steps: 50, n: 4 }));
    expect(numbersOf(large).remaining).toBe(0);
    // Five seconds were spent of three, so the budget is full again 100 s after the first job.
    const passedMs = (await redisNow(world.parts.redis)) - startedAt;
    expect(numbersOf(large).reset).toBeLessThanOrEqual(100);
    expect(numbersOf(large).reset).toBeGreaterThanOrEqual(Math.ceil(100 - passedMs / 1000));
    const refused = await ask('POST', '/v1/jobs', drawing());
    await expectRefusal(refused);
    expect(numbersOf(refused)).toMatchObject({ limit: 3, remaining: 0 });
    expect(numbersOf(refused).reset).toBeGreaterThan(35);
    expect(numbersOf(refused).reset).toBeLessThanOrEqual(41);
  });

  test('The budget refills steadily', async () => {
    let passedMs = 0;
    const world = await worldAt100({ clock: { ...systemClock, monotonic: () => passedMs } });
    const { ask, key } = await keyHolder(world, 'acme', { limits: { cost_per_minute_s: 60 } });
    const { redis, keys } = world.parts;
    await ask('POST', '/v1/jobs', drawing({ steps: 50 }));
    // What is owed after this time; one second of the budget refills in one second.
    const owes = async (agoMs: number) => {
      // The penalty for the previous refusal is over.
      passedMs += 1000;
      await redis.hset(keys.budget(key.id), 'used', 90_000, 'at', (await redisNow(redis)) - agoMs);
      await redis.persist(keys.budget(key.id));
    };
    await owes(0);
    await expectRefusal(await ask('POST', '/v1/jobs', drawing()));
    await owes(20_000);
    await expectRefusal(await ask('POST', '/v1/jobs', drawing()));
    await owes(31_000);
    expect((await ask('POST', '/v1/jobs', drawing())).status).toBe(202);
  });

  test('A step back of the clock of Redis refuses no key, and what a key owes is paid off from then on', async () => {
    const world = await worldAt100();
    const { redis, keys } = world.parts;
    const usedInFuture = async (used: number) => {
      const { ask, key } = await keyHolder(world, 'acme', { limits: { cost_per_minute_s: 60 } });
      await redis.hset(keys.budget(key.id), 'used', used, 'at', (await redisNow(redis)) + 14 * 60_000);
      return { answer: await ask('POST', '/v1/jobs', drawing()), budget: keys.budget(key.id) };
    };
    expect((await usedInFuture(1)).answer.status).toBe(202);
    const { answer, budget } = await usedInFuture(90_000);
    await expectRefusal(answer);
    expect(numbersOf(answer).reset).toBeLessThanOrEqual(31);
    expect(Number(await redis.hget(budget, 'at'))).toBeLessThanOrEqual(await redisNow(redis));
  });

  test('The budget is shared by all API processes and separate for each key', async () => {
    const world = await worldAt100();
    const other = await apiWorld(server.url, { keys: world.parts.keys });
    const limits = { cost_per_minute_s: 0.1 };
    const [one, two] = [
      await keyHolder(world, 'acme', { limits }),
      await keyHolder(world, 'acme', { limits }),
    ];
    expect((await one.ask('POST', '/v1/jobs', drawing())).status).toBe(202);
    const headers = { authorization: `Bearer ${one.key.key}` };
    await expectRefusal(await other.ask('POST', '/v1/jobs', drawing(), { headers }));
    expect((await two.ask('POST', '/v1/jobs', drawing())).status).toBe(202);
  });

  test('The charge for a job that is not made is given back', async () => {
    const world = await worldAt100();
    const limits = { cost_per_minute_s: 6, max_jobs: 1 };
    const { ask } = await keyHolder(world, 'acme', { limits });
    const headers = { 'idempotency-key': 'k' };
    await ask('POST', '/v1/jobs', drawing({ steps: 50 }), { headers });
    for (let i = 0; i < 3; i++) {
      const replayed = await ask('POST', '/v1/jobs', drawing({ steps: 50 }), { headers });
      expect(replayed.headers.get('idempotency-replayed')).toBe('true');
    }
    await expectRefusal(await ask('POST', '/v1/jobs', drawing({ steps: 50 })));
    await world.worker.succeed(await world.worker.take());
    // Two jobs of one second are charged, and no other request; some of the budget has refilled since.
    const next = await vi.waitFor(
      async () => {
        const response = await ask('POST', '/v1/jobs', drawing({ steps: 50 }));
        expect(response.status).toBe(202);
        return response;
      },
      { timeout: 20_000, interval: 50 },
    );
    expect(numbersOf(next)).toMatchObject({ limit: 6, remaining: 4 });
  });

  test('Of six refused attempts all but the first are refused from memory, and none prolongs the refusal', async () => {
    const world = await worldAt100({ clock: STILL });
    const { ask, key } = await keyHolder(world, 'acme', { limits: { cost_per_minute_s: 1 } });
    await ask('POST', '/v1/jobs', drawing({ steps: 50, n: 2 }));
    const { redis, keys } = world.parts;
    const before = await redis.hgetall(keys.budget(key.id));
    const accept = vi.spyOn(world.parts.accepter, 'accept');
    const refusals: Response[] = [];
    for (let i = 0; i < 6; i++) refusals.push(await ask('POST', '/v1/jobs', drawing()));
    for (const each of refusals) await expectRefusal(each);
    expect(accept).toHaveBeenCalledTimes(1);
    expect(await redis.hgetall(keys.budget(key.id))).toEqual(before);
  });

  test('A penalty refuses new jobs before their body is read, and leaves polls and cancels alone', async () => {
    const world = await worldAt100({ clock: STILL });
    const { ask } = await keyHolder(world, 'acme', { limits: { cost_per_minute_s: 0.1 } });
    const { id } = await jobOf(await ask('POST', '/v1/jobs', drawing()));
    await expectRefusal(await ask('POST', '/v1/jobs', drawing()));
    await expectRefusal(await ask('POST', '/v1/jobs', '{not even JSON'));
    expect((await ask('GET', `/v1/jobs/${id}`)).status).toBe(200);
    expect((await ask('GET', '/v1/jobs')).status).toBe(200);
    expect((await ask('POST', `/v1/jobs/${id}/cancel`)).status).toBe(200);
    expect((await ask('DELETE', `/v1/jobs/${id}`)).status).toBe(204);
  });
});

test('Job requests are counted before their body is read', async () => {
  const world = await worldAt100();
  const { ask } = await keyHolder(world, 'acme', { limits: { requests_per_minute: 2 } });
  expect((await ask('POST', '/v1/jobs', '{')).status).toBe(400);
  expect((await ask('POST', '/v1/jobs', drawing())).status).toBe(202);
  const refused = await ask('POST', '/v1/jobs', '{');
  await expectRefusal(refused);
  expect(refused.headers.get('ratelimit-policy')).toBe('2;w=60;comment="requests"');
  expect((await ask('GET', '/v1/jobs')).status).toBe(200);
});

test('Uploads are counted together with job requests, before their body is read', async () => {
  const world = await worldAt100();
  const { ask } = await keyHolder(world, 'acme', { limits: { requests_per_minute: 2 } });
  const form = (): FormData => {
    const form = new FormData();
    form.set('content', new Blob(['bytes']), 'a.wav');
    return form;
  };
  const upload = (body: FormData | string) => ask('POST', '/v1/files', undefined, { body });
  expect((await upload(form())).status).toBe(201);
  expect((await ask('POST', '/v1/jobs', drawing())).status).toBe(202);
  await expectRefusal(await upload(form()));
  await expectRefusal(await upload('no form'));
});

describe('max_jobs and max_queued', () => {
  test('max_jobs counts the waiting and running jobs of all keys of a tenant', async () => {
    const world = await worldAt100();
    const limits = { max_jobs: 3 };
    const [one, two] = [
      await keyHolder(world, 'acme', { limits }),
      await keyHolder(world, 'acme', { limits }),
    ];
    for (const { ask } of [one, two, one])
      expect((await ask('POST', '/v1/jobs', drawing())).status).toBe(202);
    const claim = await world.worker.take();
    const refused = await two.ask('POST', '/v1/jobs', drawing());
    await expectRefusal(refused);
    expect(numbersOf(refused)).toMatchObject({ limit: 3, remaining: 0 });
    const other = await keyHolder(world, 'other', { limits });
    expect((await other.ask('POST', '/v1/jobs', drawing())).status).toBe(202);
    await world.worker.succeed(claim);
    expect((await one.ask('POST', '/v1/jobs', drawing())).status).toBe(202);
  });

  test('max_queued is enforced separately from max_jobs', async () => {
    const world = await worldAt100();
    const { ask } = await keyHolder(world, 'acme', { limits: { max_queued: 1 } });
    expect((await ask('POST', '/v1/jobs', drawing())).status).toBe(202);
    await expectRefusal(await ask('POST', '/v1/jobs', drawing()));
    await world.worker.take();
    await vi.waitFor(async () => expect((await ask('POST', '/v1/jobs', drawing())).status).toBe(202), {
      timeout: 20_000,
      interval: 50,
    });
  });
});

describe('estimated wait', () => {
  test('A new job is answered 503 when its class would wait too long, and the breaker shows the classes', async () => {
    const world = await worldAt100({ maxWaitMs: 3000 });
    const breakers = async () => {
      const { data, models } = (await (await world.ask('GET', '/v1/queues')).json()) as {
        data: { breaker: string; wait_ms: object }[];
        models: { model: string; breaker: string }[];
      };
      return { breaker: data[0].breaker, model: models[0], wait: data[0].wait_ms };
    };
    const { id } = await world.post({ steps: 50, n: 4 });
    // As long as the job ahead; a much shorter one would run before it.
    const refused = await world.ask('POST', '/v1/jobs', drawing({ steps: 50, n: 4 }));
    expect(refused.status).toBe(503);
    expect(await problemOf(refused)).toMatchObject({
      type: 'urn:lehr:problem:overloaded',
      detail: 'This job would wait about 4 s before it starts.',
    });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    // The numbers may be a second old.
    await expect.poll(async () => (await breakers()).breaker, { timeout: 20_000 }).toBe('partly-open');
    expect(await breakers()).toMatchObject({
      model: { model: 'tiny@1', breaker: 'partly-open' },
      wait: { interactive: 0, standard: 4000, bulk: 4000 },
    });
    expect((await world.post({}, { priority: 'interactive' })).status).toBe('queued');
    expect((await world.ask('GET', `/v1/jobs/${id}`)).status).toBe(200);
    expect((await world.ask('POST', `/v1/jobs/${id}/cancel`)).status).toBe(200);
    expect((await world.post()).status).toBe('queued');
    await expect.poll(async () => (await breakers()).breaker, { timeout: 20_000 }).toBe('closed');
  });

  test('A new job is answered 503 when it cannot start before its own deadline', async () => {
    const world = await worldAt100();
    await world.post({ steps: 50, n: 4 });
    const post = (deadline_s: number) =>
      world.ask('POST', '/v1/jobs', { ...drawing({ steps: 50, n: 4 }), deadline_s });
    expect((await post(7.9)).status).toBe(503);
    expect((await post(8.1)).status).toBe(202);
  });

  test('The estimated wait counts jobs of other groups by the share of common workers', async () => {
    const world = await worldAt100({ maxWaitMs: 2000 });
    await world.post({ steps: 50, width: 96 });
    const elsewhere = async () =>
      (await world.parts.backlog.ahead(LANE.queue, 'tiny@1', 'standard')).elsewhereMs;
    // 96x64 costs 1.5 times as much.
    await expect.poll(elsewhere, { timeout: 20_000 }).toBe(1500);
    expect((await world.post({ steps: 50 }, { priority: 'interactive' })).status).toBe('queued');
    // 1000 ms of the more urgent class, and 1500 ms of the other group.
    expect((await world.ask('POST', '/v1/jobs', drawing({ steps: 50 }))).status).toBe(503);
  });

  test('The wait is estimated for one worker while no worker serves the group', async () => {
    const world = await apiWorld(server.url, { maxWaitMs: 300 });
    const { queue } = await world.post({ steps: 50, n: 4 });
    expect(queue).toEqual({ position: 1, eta_ms: null });
    const shown = async () =>
      ((await (await world.ask('GET', '/v1/queues')).json()) as { data: object[] }).data;
    await expect
      .poll(shown, { timeout: 20_000 })
      .toMatchObject([{ waiting: 1, workers: 0, wait_ms: null, breaker: 'partly-open' }]);
    expect((await world.ask('POST', '/v1/jobs', drawing({ steps: 50, n: 4 }))).status).toBe(503);
  });
});

describe('event streams', () => {
  const LIMITS = { max_streams: 2 };
  const eventsOf = (id: string): string => `/v1/jobs/${id}/events`;

  test('Open streams count against their key, and one too many is refused with a message', async () => {
    const world = await apiWorld(server.url);
    const { ask } = await keyHolder(world, 'acme', { limits: LIMITS });
    const other = await keyHolder(world, 'acme', { limits: LIMITS });
    const { id } = await jobOf(await ask('POST', '/v1/jobs', drawing()));
    const follow = async (who = ask) => {
      const response = await who('GET', eventsOf(id));
      expect(response.status).toBe(200);
      const reader = response.body!.getReader();
      await reader.read();
      return reader;
    };
    const first = await follow();
    const second = await follow();
    const refused = await ask('GET', eventsOf(id));
    await expectRefusal(refused);
    expect(numbersOf(refused)).toMatchObject({ limit: 2, remaining: 0 });
    const again = await ask('GET', eventsOf(id));
    expect((await problemOf(again)).detail).toBe(
      'This key may have 2 event streams open at once, and 2 are.',
    );
    // Other keys and polls are not limited by it.
    await (await follow(other.ask)).cancel();
    expect((await ask('GET', `/v1/jobs/${id}`)).status).toBe(200);
    await first.cancel();
    await (await follow()).cancel();
    // A stream that ends with its job no longer counts.
    await ask('POST', `/v1/jobs/${id}/cancel`);
    for (let done = false; !done; ) done = (await second.read()).done;
    const { id: next } = await jobOf(await ask('POST', '/v1/jobs', drawing()));
    const readers = [await ask('GET', eventsOf(next)), await ask('GET', eventsOf(next))];
    for (const { status, body } of readers) {
      expect(status).toBe(200);
      await body!.cancel();
    }
  });

  test('A stream that is never read, or has ended, does not count against the limit of streams', async () => {
    const world = await apiWorld(server.url);
    const { ask } = await keyHolder(world, 'acme', { limits: { max_streams: 1 } });
    const { id } = await jobOf(await ask('POST', '/v1/jobs', drawing()));
    for (let i = 0; i < 3; i++) expect((await ask('HEAD', eventsOf(id))).status).toBe(200);
    for (let i = 0; i < 3; i++) await (await ask('GET', eventsOf(id))).body!.cancel();
    const reader = (await ask('GET', eventsOf(id))).body!.getReader();
    await reader.read();
    await reader.cancel();
    await ask('POST', `/v1/jobs/${id}/cancel`);
    for (let i = 0; i < 3; i++)
      expect(await (await ask('GET', eventsOf(id))).text()).toContain('job.canceled');
  });

  test('Link streams of a tenant are counted together and separately from those of its keys', async () => {
    const streams = new Streams();
    const world = await apiWorld(server.url, { streams });
    const { ask } = await keyHolder(world, 'acme');
    const job = await jobOf(await ask('POST', '/v1/jobs', drawing()));
    const path = job.links.events_signed.slice(PUBLIC_URL.length);
    const holder = { name: 'links of acme', label: '', limit: DEFAULT_LIMITS.max_streams };
    const leave = Array.from({ length: 1000 }, () => streams.enter(holder));
    const refused = await world.app.request(path);
    expect(refused.status).toBe(429);
    expect((await problemOf(refused)).detail).toBe(
      'The event links of this tenant may have 1000 event streams open at once, and 1000 are.',
    );
    const byKey = await ask('GET', eventsOf(job.id));
    expect(byKey.status).toBe(200);
    await byKey.body!.cancel();
    leave[0]();
    const free = await world.app.request(path);
    expect(free.status).toBe(200);
    await free.body!.cancel();
  });
});

test('The product of width, height, pictures and steps has its own limit', async () => {
  const world = await apiWorld(server.url);
  const { max_work } = world.parts.registry.resolve('diffusion', 'tiny', 0).model.limits;
  expect(max_work).toBe(2 * 12288 * 50);
  expect((await world.post({ width: 96, height: 128, n: 2, steps: 50 })).status).toBe('queued');
  const refused = await world.ask('POST', '/v1/jobs', drawing({ width: 96, height: 128, n: 3, steps: 50 }));
  expect(refused.status).toBe(422);
  const { errors, detail } = await problemOf(refused);
  expect(errors?.map(({ pointer }) => pointer)).toEqual(['/input']);
  expect(detail).toBe(
    'input is too much work for one job: 3 pictures of 96x128 pixels in 50 steps are 1.8 million pixel steps, at most 1.2 million are allowed.',
  );
});
