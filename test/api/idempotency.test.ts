import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { listen } from '../../apps/api/src/http/listen.ts';
import { canonical, identify, type RequestIdentity } from '../../apps/api/src/jobs/identity.ts';
import { cancelAbandoned } from '../../apps/api/src/jobs/requests/unanswered-requests.ts';
import { KEEP_PLACE_MS } from '../../apps/api/src/jobs/store-attachments.ts';
import { submitJob } from '../../apps/api/src/jobs/submit.ts';
import {
  type Clock,
  DEFAULT_TENANT,
  type JobId,
  type JobRequest,
  JobRequestSchema,
  newJobId,
  parseRegistry,
  systemClock,
  type TenantId,
} from '../../packages/shared/src/index.ts';
import { requeueLost } from '../../packages/shared/src/queue/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { API_KEY, type ApiWorld, apiWorld, jobOf, MODELS, problemOf } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const QUEUE = 'diffusion.tiny@1.64x64';
const circle = { type: 'text-to-image', input: { prompt: 'a red circle' } };
const withKey = (key: string) => ({ headers: { 'idempotency-key': key } });

/** Its audio is stored after its admission and before its record, so that these are two steps. */
const speech = {
  type: 'speech-to-text',
  input: { audio: `data:audio/wav;base64,${Buffer.alloc(1000).toString('base64')}` },
};

const registry = parseRegistry(
  `${MODELS}  - { name: whisper, task: whisper, versions: [{ version: "1", path: whisper }] }\n`,
);

/** Of any group. */
const allJobsIn = async ({ parts: { redis, keys } }: ApiWorld): Promise<number> =>
  redis.zcard(keys.jobsOf('default' as TenantId));

const jobsIn = async ({ parts }: ApiWorld): Promise<number> =>
  parts.redis.zcard(parts.queues.of(QUEUE).prioritizedKey);

describe('Idempotency-Key', () => {
  test('Fifty concurrent posts with one Idempotency-Key make one job, and all are answered with it', async () => {
    const world = await apiWorld(server.url);
    const other = await apiWorld(server.url, { keys: world.parts.keys });
    const posts = Array.from({ length: 50 }, (_, i) =>
      (i % 2 ? world : other).ask('POST', '/v1/jobs', circle, withKey('order-81')),
    );
    const answers = await Promise.all(posts);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    const jobs = await Promise.all(answers.map(jobOf));
    expect(new Set(jobs.map((job) => JSON.stringify(job))).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'true')).toHaveLength(49);
    expect(await jobsIn(world)).toBe(1);
  });

  test('A retry with the same Idempotency-Key gets the job while it runs and at its end', async () => {
    const world = await apiWorld(server.url);
    const first = await jobOf(await world.ask('POST', '/v1/jobs', circle, withKey('a')));
    const claim = await world.worker.take();
    const again = await world.ask('POST', '/v1/jobs', circle, withKey('a'));
    expect(again.status).toBe(202);
    expect(await jobOf(again)).toMatchObject({ id: first.id, status: 'running' });
    const held = world.ask('POST', '/v1/jobs?wait=30', circle, withKey('a'));
    await expect.poll(() => world.parts.waits.size).toBe(1);
    await world.worker.succeed(claim);
    const over = await held;
    expect(over.status).toBe(200);
    expect(over.headers.get('idempotency-replayed')).toBe('true');
    expect(over.headers.get('location')).toBe(`/v1/jobs/${first.id}`);
    expect(await jobOf(over)).toMatchObject({ id: first.id, status: 'succeeded' });
  });

  test('An Idempotency-Key matches its request in any field order, and refuses another request', async () => {
    const world = await apiWorld(server.url);
    const one = { type: 'text-to-image', input: { prompt: 'x', steps: 4 }, metadata: { a: '1', b: '2' } };
    const same = { metadata: { b: '2', a: '1' }, input: { steps: 4, prompt: 'x' }, type: 'text-to-image' };
    const first = await jobOf(await world.ask('POST', '/v1/jobs', one, withKey('k')));
    expect((await jobOf(await world.ask('POST', '/v1/jobs', same, withKey('k')))).id).toBe(first.id);
    const other = await world.ask('POST', '/v1/jobs', { ...one, input: { prompt: 'y' } }, withKey('k'));
    expect(other.status).toBe(422);
    expect(await problemOf(other)).toMatchObject({ type: 'urn:lehr:problem:idempotency-mismatch' });
    expect(await jobsIn(world)).toBe(1);
  });

  test('An Idempotency-Key belongs to the tenant of the API key that sent it, so a retry with its next key makes no second job', async () => {
    const world = await apiWorld(server.url);
    const [a, b] = [await keyHolder(world, 'a'), await keyHolder(world, 'b')];
    const [one, two] = [
      await jobOf(await a.ask('POST', '/v1/jobs', circle, withKey('k'))),
      await jobOf(await b.ask('POST', '/v1/jobs', circle, withKey('k'))),
    ];
    expect(one.id).not.toBe(two.id);
    const next = await keyHolder(world, 'a');
    await world.ask('DELETE', `/v1/keys/${a.key.id}`);
    const again = await next.ask('POST', '/v1/jobs', circle, withKey('k'));
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect((await jobOf(again)).id).toBe(one.id);
    const other = { ...circle, input: { prompt: 'a blue square' } };
    expect((await next.ask('POST', '/v1/jobs', other, withKey('k'))).status).toBe(422);
  });

  test.each([
    ['POST /v1/jobs', '/v1/jobs', circle],
    ['POST /v1/jobs with a wait', '/v1/jobs?wait=1', circle],
    ['a workflow', '/v1/jobs', { type: 'workflow', nodes: [{ id: 'a', ...circle }] }],
    ['a job with media', '/v1/jobs', speech],
    [
      'a text',
      '/v1/jobs?wait=1',
      {
        type: 'fill-mask',
        input: { texts: Array(8).fill(`a [MASK] ${'word '.repeat(150)}`) },
        durability: 'none',
      },
    ],
    ['a retry', '/v1/jobs/{id}/retry', undefined],
    ['Replicate', '/v1/models/lehr/tiny/predictions', { input: { prompt: 'a red circle' } }],
    ['OpenAI', '/v1/images/generations', { prompt: 'a red circle', model: 'tiny', size: '64x64' }],
    ['Hugging Face', '/models/tiny', { inputs: 'a red circle' }],
  ])(
    'A retry of %s gets its job after the first request used up the budget, also while its key is refused',
    async (_, path, body) => {
      const texts =
        '  - { name: bert, task: text, tasks: [fill-mask], versions: [{ version: "1", path: bert }] }\n';
      const world = await apiWorld(server.url, {
        holdMs: 1,
        registry: parseRegistry(
          `${MODELS}  - { name: whisper, task: whisper, versions: [{ version: "1", path: whisper }] }\n${texts}`,
        ),
      });
      const { ask } = await keyHolder(world, 'default', { limits: { cost_per_minute_s: 0.001 } });
      const { redis, keys } = world.parts;
      const target = path.includes('{id}') ? (await world.post()).id : undefined;
      await world.ask('POST', `/v1/jobs/${target}/cancel`);
      const post = () => ask('POST', path.replace('{id}', target ?? ''), body, withKey('k'));
      const first = await post();
      const jobs = () => redis.zrange(keys.jobsOf('default' as TenantId), '0', '-1');
      const made = await jobs();
      expect(first.status).not.toBe(429);
      expect(made).toHaveLength(target ? 2 : 1);
      expect((await ask('POST', '/v1/jobs', { ...circle, metadata: { a: 'b' } })).status).toBe(429);
      const again = await post();
      expect(again.status).toBe(first.status);
      expect(await jobs()).toEqual(made);
    },
  );

  test('A retry gets its job also when the file or the earlier job that the request names was deleted meanwhile', async () => {
    const world = await apiWorld(server.url, { registry });
    const body = new FormData();
    body.set('content', new Blob([Buffer.alloc(1000)]), 'a.wav');
    const file = (await (await world.ask('POST', '/v1/files', undefined, { body })).json()) as { id: string };
    const ended = await world.post();
    await world.ask('POST', `/v1/jobs/${ended.id}/cancel`);
    const listening = { type: 'speech-to-text', input: { audio: file.id } };
    const requests = [
      (key: string) => world.ask('POST', '/v1/jobs', listening, withKey(key)),
      (key: string) => world.ask('POST', `/v1/jobs/${ended.id}/retry`, undefined, withKey(key)),
    ];
    const made = [await jobOf(await requests[0]('listen')), await jobOf(await requests[1]('retry'))];
    await world.ask('DELETE', `/v1/files/${file.id}`);
    expect((await world.ask('DELETE', `/v1/jobs/${ended.id}`)).status).toBe(204);
    const again = [await requests[0]('listen'), await requests[1]('retry')];
    expect(again.map(({ headers }) => headers.get('idempotency-replayed'))).toEqual(['true', 'true']);
    expect((await Promise.all(again.map(jobOf))).map(({ id }) => id)).toEqual(made.map(({ id }) => id));
    expect([(await requests[0]('another')).status, (await requests[1]('another')).status]).toEqual([
      422, 404,
    ]);
  });

  test('A request whose attachments take long to store keeps its place and its Idempotency-Key', async () => {
    const sleeps = new EventTarget();
    // The pause between two renewals ends when the test says so.
    const sleep: Clock['sleep'] = (ms, signal) =>
      ms < KEEP_PLACE_MS
        ? systemClock.sleep(ms, signal)
        : new Promise((resolve) => {
            for (const type of [sleeps, signal as AbortSignal])
              type.addEventListener('abort', () => resolve(), { once: true });
          });
    const world = await apiWorld(server.url, { registry, clock: { ...systemClock, sleep } });
    const { redis, keys, queues, records, store } = world.parts;
    const put = store.put.bind(store);
    let mayStore = (): void => {};
    const isAsked = new Promise<void>((resolve) => {
      vi.spyOn(store, 'put').mockImplementation(async (...object) => {
        resolve();
        await new Promise<void>((go) => {
          mayStore = go;
        });
        return put(...object);
      });
    });
    const post = () => world.ask('POST', '/v1/jobs', speech, withKey('slow'));
    const first = post();
    await isAsked;
    const [id] = (await redis.zrange(keys.live, '0', '-1')) as JobId[];
    const now = await redisNow(redis);
    await redis.zadd(keys.live, now - 60_000, id);
    sleeps.dispatchEvent(new Event('abort'));
    await expect.poll(async () => Number(await redis.zscore(keys.live, id))).toBeGreaterThanOrEqual(now);
    await requeueLost(redis, keys, queues, records, now);
    mayStore();
    expect((await jobOf(await first)).id).toBe(id);
    expect((await jobOf(await post())).id).toBe(id);
    expect(await allJobsIn(world)).toBe(1);
  });

  test('A retry for a deleted job is answered 410 and makes no second job', async () => {
    const world = await apiWorld(server.url);
    const { id } = await jobOf(await world.ask('POST', '/v1/jobs', circle, withKey('k')));
    await world.ask('POST', `/v1/jobs/${id}/cancel`);
    await world.ask('DELETE', `/v1/jobs/${id}`);
    const again = await world.ask('POST', '/v1/jobs', circle, withKey('k'));
    expect(again.status).toBe(410);
    expect(await jobsIn(world)).toBe(0);
  });

  test.each([
    ['', 'must have at least 1 characters'],
    ['x'.repeat(256), 'must have at most 255 characters'],
  ])('An Idempotency-Key must have 1 to 255 characters (%#)', async (key, detail) => {
    const world = await apiWorld(server.url);
    const response = await world.ask('POST', '/v1/jobs', circle, withKey(key));
    expect(response.status).toBe(400);
    expect((await problemOf(response)).errors).toEqual([{ pointer: '?idempotency-key', detail }]);
    expect((await world.ask('POST', '/v1/jobs', circle, withKey('x'.repeat(255)))).status).toBe(202);
  });

  test('A retry makes the job under the admitted id when the first request died before storing it', async () => {
    const world = await apiWorld(server.url);
    const id = await admittedAndDead(world, 'k');
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => world.ask('POST', '/v1/jobs', circle, withKey('k'))),
    );
    const jobs = await Promise.all(answers.map(jobOf));
    expect(new Set(jobs.map((job) => job.id))).toEqual(new Set([id]));
    expect(answers.filter(({ headers }) => headers.has('idempotency-replayed'))).toHaveLength(9);
    expect(await jobsIn(world)).toBe(1);
    expect((await world.worker.take()).jobId).toBe(id);
  });

  test('A request so slow that its retry made the job gets its charge back and is answered as a replay', async () => {
    const world = await apiWorld(server.url, { registry });
    const other = await apiWorld(server.url, { keys: world.parts.keys, registry });
    const refund = vi.spyOn(world.parts.quotas, 'refund');
    const create = world.parts.records.create.bind(world.parts.records);
    let storeNow = () => {};
    const held = new Promise<void>((resolve) => {
      storeNow = resolve;
    });
    const creating = vi.spyOn(world.parts.records, 'create').mockImplementation(async (...job) => {
      await held;
      return create(...job);
    });
    const slow = world.ask('POST', '/v1/jobs', speech, withKey('k'));
    await expect.poll(() => creating).toHaveBeenCalled();
    const made = await other.ask('POST', '/v1/jobs', speech, withKey('k'));
    expect(made.headers.has('idempotency-replayed')).toBe(false);
    storeNow();
    const late = await slow;
    expect(late.status).toBe(202);
    expect(late.headers.get('idempotency-replayed')).toBe('true');
    expect((await jobOf(late)).id).toBe((await jobOf(made)).id);
    expect(refund).toHaveBeenCalledOnce();
    expect(await allJobsIn(world)).toBe(1);
    expect(await world.parts.metricsPage.render()).not.toContain('lehr_jobs_accepted_total{');
  });

  test('A request whose create was repeated after a lost reply counts as the one that made the job', async () => {
    const world = await apiWorld(server.url, { registry });
    const refund = vi.spyOn(world.parts.quotas, 'refund');
    const create = world.parts.records.create.bind(world.parts.records);
    vi.spyOn(world.parts.records, 'create').mockImplementation(async (...job) => {
      await create(...job);
      return create(...job);
    });
    const made = await world.ask('POST', '/v1/jobs', speech, withKey('k'));
    expect(made.status).toBe(202);
    expect(made.headers.has('idempotency-replayed')).toBe(false);
    expect(refund).not.toHaveBeenCalled();
    expect(await allJobsIn(world)).toBe(1);
    expect(await world.parts.metricsPage.render()).toMatch(/lehr_jobs_accepted_total\{.*\} 1\n/);
  });

  test.each([undefined, 'k'])(
    'A request whose job was stored by a command that was sent again after a lost reply counts as the one that made it (%s)',
    async (key) => {
      const world = await apiWorld(server.url);
      const refund = vi.spyOn(world.parts.quotas, 'refund');
      const accept = world.parts.accepter.accept.bind(world.parts.accepter);
      vi.spyOn(world.parts.accepter, 'accept').mockImplementation(async (...job) => {
        await accept(...job);
        return accept(...job);
      });
      const made = await world.ask('POST', '/v1/jobs', circle, key === undefined ? {} : withKey(key));
      expect(made.status).toBe(202);
      expect(made.headers.has('idempotency-replayed')).toBe(false);
      expect(refund).not.toHaveBeenCalled();
      expect(await jobsIn(world)).toBe(1);
      expect(await world.parts.metricsPage.render()).toMatch(/lehr_jobs_accepted_total\{.*\} 1\n/);
    },
  );

  test('An Idempotency-Key is free again after the janitor removed the admission of a request that died', async () => {
    const world = await apiWorld(server.url);
    const id = await admittedAndDead(world, 'k');
    const { redis, keys, queues, records } = world.parts;
    await requeueLost(redis, keys, queues, records, (await redisNow(redis)) + 60_000);
    const job = await jobOf(await world.ask('POST', '/v1/jobs', circle, withKey('k')));
    expect(job.id).not.toBe(id);
    expect(await redis.zcard(keys.liveOf('default' as never))).toBe(1);
  });
});

const identityOf = async (world: ApiWorld, idempotencyKey?: string): Promise<RequestIdentity> => {
  const caller = await world.parts.authenticator.authenticate(API_KEY);
  const body = { ...JobRequestSchema.parse(circle), priority: 'standard' };
  return identify(caller!, 'POST /v1/jobs', body, { idempotencyKey });
};

/** The state that an API process leaves when it dies right after admission. */
async function admittedAndDead(world: ApiWorld, key: string): Promise<JobId> {
  const id = newJobId();
  const { idempotency } = await identityOf(world, key);
  const admission = await world.parts.admitter.admit(
    { id, tenant: 'default' as never, queue: QUEUE, priority: 'standard', cost: 100 },
    { idempotency },
  );
  expect(admission.code).toBe('admitted');
  return id;
}

describe('unanswered post', () => {
  async function served(world: ApiWorld): Promise<number> {
    const listener = await listen('127.0.0.1', 0);
    onTestFinished(() => listener.close(0));
    listener.serve(world.app.fetch);
    return listener.port;
  }

  /** Sends a post that is held, and hangs up once its job exists. */
  async function hangUp(world: ApiWorld, port: number, body: object): Promise<string> {
    const text = JSON.stringify(body);
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `POST /v1/jobs?wait=30 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${API_KEY}\r\n` +
        `content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    );
    await expect.poll(() => world.parts.waits.size).toBe(1);
    socket.destroy();
    const marked = vi.spyOn(world.parts.unanswered, 'markUnanswered');
    await expect.poll(() => marked.mock.calls.length).toBe(1);
    await marked.mock.results[0].value;
    return marked.mock.calls[0][1];
  }

  test('The next duplicate of an unanswered post takes over its job, once, on any API process', async () => {
    const world = await apiWorld(server.url);
    const id = await hangUp(world, await served(world), circle);
    const other = await apiWorld(server.url, { keys: world.parts.keys });
    expect((await other.post({ prompt: 'another' })).id).not.toBe(id);
    const [one, two] = await Promise.all([other.post(), other.post()]);
    expect([one.id, two.id]).toContain(id);
    expect(one.id).not.toBe(two.id);
    expect((await other.post()).id).not.toBe(id);
  });

  test('A request with an Idempotency-Key, with another API key, or a minute later does not take over the job', async () => {
    const world = await apiWorld(server.url);
    const id = await hangUp(world, await served(world), circle);
    const keyed = await jobOf(await world.ask('POST', '/v1/jobs', circle, withKey('k')));
    const { ask } = await keyHolder(world, 'default');
    const stranger = await jobOf(await ask('POST', '/v1/jobs', circle));
    const { redis, keys } = world.parts;
    const { duplicate } = await identityOf(world);
    await redis.zadd(keys.unanswered(duplicate!.hash), 'XX', (await redisNow(redis)) - 1, id);
    const late = await world.post();
    expect([keyed.id, stranger.id, late.id]).not.toContain(id);
  });

  test('A duplicate of an answered post makes a second job', async () => {
    const world = await apiWorld(server.url);
    const port = await served(world);
    const post = async (): Promise<string> => {
      const response = await fetch(`http://127.0.0.1:${port}/v1/jobs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify(circle),
      });
      return ((await response.json()) as { id: string }).id;
    };
    expect(await post()).not.toBe(await post());
  });

  test('A duplicate of an unanswered post makes a new job when the first job was deleted', async () => {
    const world = await apiWorld(server.url);
    const id = await hangUp(world, await served(world), circle);
    await world.ask('POST', `/v1/jobs/${id}/cancel`);
    await world.ask('DELETE', `/v1/jobs/${id}`);
    expect((await world.post()).id).not.toBe(id);
  });
});

describe('held request', () => {
  const request: JobRequest = JobRequestSchema.parse(circle);
  const submit = async (world: ApiWorld, duplicate: RequestIdentity['duplicate']) => {
    const caller = await world.parts.authenticator.authenticate(API_KEY);
    return submitJob(world.parts, caller!, request, { ...(duplicate && { duplicate }) });
  };

  test('Only a duplicate that says it is a retry takes over the job of a request that is still held', async () => {
    const world = await apiWorld(server.url);
    const { unanswered } = world.parts;
    const duplicate = (await identityOf(world)).duplicate!;
    const first = await submit(world, duplicate);
    await unanswered.markHeld(duplicate, first.record.id);
    expect((await submit(world, duplicate)).how).toBe('new');
    const retry = await submit(world, { ...duplicate, isRetry: true });
    expect(retry).toMatchObject({ how: 'adopted', record: { id: first.record.id } });
    await unanswered.markHeld(duplicate, first.record.id);
    await unanswered.markAnswered(duplicate, first.record.id);
    expect((await submit(world, { ...duplicate, isRetry: true })).how).toBe('new');
  });

  test('A duplicate takes over the oldest job when the maximum of duplicates is held', async () => {
    const world = await apiWorld(server.url);
    const { unanswered } = world.parts;
    const duplicate = { ...(await identityOf(world)).duplicate!, maxHeld: 2 };
    const ids: JobId[] = [];
    for (let i = 0; i < 4; i++) {
      const { record } = await submit(world, duplicate);
      await unanswered.markHeld(duplicate, record.id);
      ids.push(record.id);
    }
    expect(new Set(ids).size).toBe(2);
  });

  /** Submits a job whose request ends unanswered; by default no other request is equal to it. */
  async function unansweredJob(world: ApiWorld, duplicate = { hash: newJobId() as string }): Promise<JobId> {
    const { id } = (await submit(world, duplicate)).record;
    await world.parts.unanswered.markUnanswered(duplicate, id, { tenant: DEFAULT_TENANT });
    return id;
  }

  /** The minute in which a caller may ask for the jobs has passed. */
  async function letPass({ parts: { redis, keys } }: ApiWorld): Promise<void> {
    for (const entry of await redis.zrange(keys.abandoned, '0', '-1'))
      await redis.zadd(keys.abandoned, 'XX', 1, entry);
  }

  const canceled = async ({ parts }: ApiWorld): Promise<number> =>
    (await parts.metrics.janitorActions.get()).values.reduce((sum, { value }) => sum + value, 0);

  test('An abandoned job is canceled once, and not when a retry took it over', async () => {
    const world = await apiWorld(server.url);
    const other = await apiWorld(server.url, { keys: world.parts.keys });
    const duplicate = { hash: 'same' };
    const taken = await unansweredJob(world, duplicate);
    expect((await submit(world, duplicate)).record.id).toBe(taken);
    const left = await unansweredJob(world);
    await cancelAbandoned(world.parts);
    expect(await canceled(world)).toBe(0);
    await letPass(world);
    await Promise.all([cancelAbandoned(world.parts), cancelAbandoned(other.parts)]);
    expect((await canceled(world)) + (await canceled(other))).toBe(1);
    expect([(await world.get(taken)).status, (await world.get(left)).status]).toEqual(['queued', 'canceled']);
  });

  test('An abandoned job is canceled only if it still waits, and one that is gone is forgotten', async () => {
    const world = await apiWorld(server.url);
    const running = await unansweredJob(world);
    await world.worker.take();
    const waiting = await unansweredJob(world);
    await world.parts.unanswered.markUnanswered({ hash: 'x' }, newJobId(), { tenant: DEFAULT_TENANT });
    await letPass(world);
    await cancelAbandoned(world.parts);
    expect((await world.get(running)).status).toBe('running');
    expect((await world.get(waiting)).status).toBe('canceled');
    expect(await jobsIn(world)).toBe(0);
    expect(await canceled(world)).toBe(1);
    expect(await world.parts.redis.exists(world.parts.keys.abandoned)).toBe(0);
  });

  test.each([
    ['gets it', '/v1/jobs/'],
    ['gets it as a prediction', '/v1/predictions/'],
    ['follows its events', '/v1/jobs/', '/events'],
  ])('A job of an unanswered request is not canceled when its tenant %s', async (_, path, rest = '') => {
    const world = await apiWorld(server.url);
    const other = await keyHolder(world, 'other');
    const [asked, foreign] = [await unansweredJob(world), await unansweredJob(world)];
    const placeOf = (id: JobId) =>
      `${path}${path.includes('predictions') ? id.replace('job_', '') : id}${rest}`;
    const answer = await world.ask('GET', placeOf(asked));
    expect(answer.status).toBe(200);
    await answer.body?.cancel();
    expect((await other.ask('GET', placeOf(foreign))).status).toBe(404);
    await letPass(world);
    await cancelAbandoned(world.parts);
    const stateOf = async (id: JobId) => (await world.parts.records.read(id))?.state;
    expect([await stateOf(asked), await stateOf(foreign)]).toEqual(['queued', 'canceled']);
  });

  test('A job that was shown as waiting while abandoned jobs were canceled is not canceled', async () => {
    const world = await apiWorld(server.url);
    const ids = await Promise.all(Array.from({ length: 40 }, () => unansweredJob(world)));
    await letPass(world);
    const [shown] = await Promise.all([
      Promise.all(ids.map((id) => world.get(id))),
      cancelAbandoned(world.parts),
    ]);
    const records = await world.parts.records.readMany(ids);
    expect(records.map((record) => record?.state)).toEqual(shown.map(({ status }) => status));
  });
});

test('Canonical JSON sorts names at any depth and keeps the order of lists', () => {
  expect(canonical({ b: [{ d: 1, c: 2 }, 3], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1},3]}');
});
