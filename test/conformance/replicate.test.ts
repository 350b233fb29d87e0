/** The published `replicate` client against a running Lehr; only base URL and key are set. */
import { type Prediction, parseProgressFromLogs } from 'replicate';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { apiWorld } from '../support/api-world.ts';
import { shared } from '../support/cleanup.ts';
import { pictureFile } from '../support/picture-file.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { problemIn, refused, replicate } from '../support/replicate-client.ts';
import { newTenant, startStack } from '../support/stack.ts';
import { storedJobs } from '../support/stored-jobs.ts';
import { verified, webhookReceiver } from '../support/webhook-receiver.ts';

/** Most tests start a whole installation, possibly on a busy machine. */
vi.setConfig({ testTimeout: 180_000 });
const LONG_WAIT = { timeout: 30_000 };

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const stack = shared(async () => {
  const all = await startStack(server);
  await all.worker();
  return all;
});

/** Without a worker: the jobs of each test, which has an own tenant, stay as they are. */
const idle = shared(() => startStack(server));

const CIRCLE = { prompt: 'a red circle' };
const ID = /^[a-z0-9]{26}$/;

describe('run', () => {
  test('replicate.run returns a list of links for a model and for every form of a version', async () => {
    const { client, calls } = replicate(stack);
    for (const ref of ['lehr/tiny', 'lehr/tiny:1', 'lehr/tiny:tiny@1'] as const) {
      const output = await client.run(ref, { input: { ...CIRCLE, num_outputs: 2 } });
      const [first, second, ...rest] = output as string[];
      expect(rest).toEqual([]);
      expect(first).not.toBe(second);
      const picture = await fetch(first ?? '');
      expect(picture.headers.get('content-type')).toBe('image/png');
      expect(pictureFile(new Uint8Array(await picture.arrayBuffer()))).toEqual({
        format: 'png',
        size: '64x64',
      });
    }
    // Each call is held, so it needs one request.
    expect(calls.map(({ method, path, status }) => `${method} ${path} ${status}`)).toEqual([
      'POST /v1/models/lehr/tiny/predictions 201',
      'POST /v1/predictions 201',
      'POST /v1/predictions 201',
    ]);
    expect(calls[0]?.headers.get('preference-applied')).toBe('wait=60');
    const polled = await client.run('lehr/tiny', { input: CIRCLE, wait: { mode: 'poll', interval: 50 } });
    expect(polled).toHaveLength(1);
    expect(calls[3]?.status).toBe(202);
  });

  test('replicate.run returns readable files for https links and fetches them without the key', {
    tags: ['long'],
  }, async () => {
    const publicUrl = 'https://lehr.test';
    const stack = await startStack(server, { LEHR_PUBLIC_URL: publicUrl });
    await stack.worker();
    const { client, calls } = replicate(stack, {}, publicUrl);
    const [image] = (await client.run('lehr/tiny', { input: { ...CIRCLE, output_format: 'webp' } })) as [
      { blob(): Promise<Blob>; url(): URL },
    ];
    expect(image.url().origin).toBe(publicUrl);
    const blob = await image.blob();
    expect(blob.type).toBe('image/webp');
    expect(pictureFile(new Uint8Array(await blob.arrayBuffer())).format).toBe('webp');
    expect(calls.at(-1)?.path).toMatch(/^\/objects\//);
  });

  test('replicate.run polls a job that outlasts its hold until the job has ended', {
    tags: ['long'],
  }, async () => {
    const stack = await startStack(server);
    const jobs = storedJobs(server.url, stack);
    const { client, calls } = replicate(stack);
    const seen: string[] = [];
    const running = client.run(
      'lehr/tiny',
      { input: { ...CIRCLE, num_inference_steps: 4 }, wait: { mode: 'block', timeout: 1, interval: 100 } },
      ({ status }) => seen.push(status),
    );
    const [id] = await jobs.untilJobs(1);
    await jobs.start(id!);
    await expect.poll(() => seen.includes('processing'), LONG_WAIT).toBe(true);
    expect(seen[0]).toBe('starting');
    expect(calls[0]?.status).toBe(202);
    expect(calls[0]?.headers.get('preference-applied')).toBe('wait=1');
    await jobs.records.apply([{ move: 'requeue', id: id!, lease: jobs.lease }]);
    // The worker was lost and the job requeued; its status does not go back.
    const again = await client.predictions.get(id!.slice(4));
    expect(again.status).toBe('processing');
    await stack.worker();
    expect(await running).toHaveLength(1);
    expect(new Set(seen)).toEqual(new Set(['starting', 'processing', 'succeeded']));
  });

  test('replicate.run throws the reason of a failed job and returns null for a cancelled one', async () => {
    const stack = await newTenant(idle);
    const jobs = storedJobs(server.url, stack);
    const { client } = replicate(stack);
    const failing = client.run('lehr/tiny', { input: CIRCLE }).catch((error: Error) => error.message);
    const [first] = await jobs.untilJobs(1);
    await jobs.fail(first!);
    expect(await failing).toBe('Prediction failed: NaN at step 3');
    expect(await client.predictions.get(first!.slice(4))).toMatchObject({
      status: 'failed',
      error: 'NaN at step 3',
      output: null,
    });

    const canceled = client.run('lehr/tiny', { input: CIRCLE });
    const [, second] = await jobs.untilJobs(2);
    await client.predictions.cancel(second!.slice(4));
    expect(await canceled).toBeNull();
  });

  test('replicate.run cancels the prediction when its signal is aborted', async () => {
    const stack = await newTenant(idle);
    const { client, calls } = replicate(stack);
    const stop = new AbortController();
    const wait = { mode: 'poll', interval: 50 } as const;
    const run = client.run('lehr/tiny', { input: CIRCLE, wait, signal: stop.signal }, () => stop.abort());
    expect(await run).toBeNull();
    expect(calls.at(-1)?.path).toMatch(/^\/v1\/predictions\/[a-z0-9]{26}\/cancel$/);
  });
});

describe('a prediction', () => {
  test('A prediction has all fields of its state when it is created and when it has ended', async () => {
    const stack = await startStack(server);
    const { client, calls } = replicate(stack);
    const input = {
      ...CIRCLE,
      width: 128,
      num_inference_steps: 4,
      guidance_scale: 2,
      seed: 7,
      output_format: 'jpeg',
    };
    const created = await client.predictions.create({ model: 'lehr/tiny', input });
    expect(calls[0]?.status).toBe(202);
    expect(created).toMatchObject({
      id: expect.stringMatching(ID),
      model: 'lehr/tiny',
      version: 'tiny@1',
      status: 'starting',
      source: 'api',
      data_removed: false,
      input: { ...input, height: 64, num_outputs: 1, negative_prompt: '' },
      output: null,
      error: null,
      logs: '',
      started_at: null,
      completed_at: null,
      urls: {
        get: `${stack.url}/v1/predictions/${created.id}`,
        cancel: `${stack.url}/v1/predictions/${created.id}/cancel`,
        web: `${stack.url}/jobs/job_${created.id}`,
        stream: expect.stringContaining(`${stack.url}/streams/${created.id}?`),
      },
    });
    const { deadline } = created as Prediction & { deadline: string };
    const lastsMs = Date.parse(deadline) - Date.parse(created.created_at);
    expect(Math.abs(lastsMs - 3_600_000)).toBeLessThan(1000);
    await stack.worker();
    const done = await client.wait(created, { interval: 50 });
    expect(done).toMatchObject({ id: created.id, status: 'succeeded', error: null, input: created.input });
    expect(done.output).toHaveLength(1);
    for (const at of [done.created_at, done.started_at, done.completed_at]) {
      expect(new Date(at ?? '').toISOString()).toBe(at);
    }
    const { predict_time, total_time } = done.metrics as { predict_time: number; total_time: number };
    expect(predict_time).toBeGreaterThan(0);
    expect(total_time).toBeGreaterThanOrEqual(predict_time);
    const jpeg = await fetch(done.output[0]);
    expect(pictureFile(new Uint8Array(await jpeg.arrayBuffer())).format).toBe('jpeg');
    // A prediction is also readable as a job.
    expect(await stack.over(`job_${created.id}`)).toMatchObject({ status: 'succeeded' });
    // Links are signed again for each response, so the output is not compared.
    expect(await client.predictions.get(created.id)).toMatchObject({ status: 'succeeded' });
  });

  test('A prediction can name its version in every form, and is held only if the request asks for it', async () => {
    const stack = await newTenant(idle);
    const { client, calls } = replicate(stack);
    for (const version of ['lehr/tiny', 'lehr/tiny:1', 'lehr/tiny:tiny@1', 'tiny@1', '1']) {
      const { model, version: shown } = await client.predictions.create({ version, input: CIRCLE });
      expect([model, shown], version).toEqual(['lehr/tiny', 'tiny@1']);
    }
    await client.predictions.create({ model: 'lehr/tiny', input: CIRCLE, wait: 1 });
    expect(calls.map(({ status }) => status)).toEqual(Array(6).fill(202));
    expect(calls.at(-1)?.headers.get('preference-applied')).toBe('wait=1');
    expect(calls[0]?.headers.has('preference-applied')).toBe(false);
  });

  test('A prediction is cancelled by a request without a body, and the cancel request is also answered when the prediction has ended', async () => {
    const stack = await newTenant(idle);
    const { client, calls } = replicate(stack);
    const { id } = await client.predictions.create({ model: 'lehr/tiny', input: CIRCLE });
    expect(await client.predictions.cancel(id)).toMatchObject({ id, status: 'canceled', output: null });
    expect(await client.predictions.cancel(id)).toMatchObject({ id, status: 'canceled' });
    expect(calls.slice(1).map(({ status }) => status)).toEqual([200, 200]);
    const empty = { 'content-type': 'application/json', 'content-length': '0' };
    const raw = await stack.ask('POST', `/v1/predictions/${id}/cancel`, undefined, empty);
    expect(raw.status).toBe(200);
  });

  test('A prediction that no worker claims before its Cancel-After deadline ends as canceled', {
    tags: ['long'],
  }, async () => {
    const stack = await startStack(server);
    const { client } = replicate(stack);
    const response = await client.request('/models/lehr/tiny/predictions', {
      method: 'POST',
      headers: { 'Cancel-After': '5s' },
      data: { input: CIRCLE },
    });
    const created = (await response.json()) as Prediction & { deadline: string };
    const lastsMs = Date.parse(created.deadline) - Date.parse(created.created_at);
    expect(Math.abs(lastsMs - 5000)).toBeLessThan(1000);
    const over = await client.wait(created, { interval: 100 });
    expect(over).toMatchObject({ status: 'canceled', output: null, error: null });
    expect(await stack.over(`job_${created.id}`)).toMatchObject({ status: 'expired' });
    for (const header of ['4s', 'soon', '']) {
      const error = await refused(
        client.request('/models/lehr/tiny/predictions', {
          method: 'POST',
          headers: { 'Cancel-After': header },
          data: { input: CIRCLE },
        }),
      );
      expect(error.response.status, header).toBe(400);
    }
  });

  test('A prediction whose output has expired has data_removed and no output', {
    tags: ['long'],
  }, async () => {
    const stack = await startStack(server, { LEHR_OUTPUT_TTL_H: '0.0003' });
    await stack.worker();
    const { client } = replicate(stack);
    const { id } = await client.predictions.create({ model: 'lehr/tiny', input: CIRCLE, wait: true });
    const removed = async () => {
      const { status, data_removed, output } = await client.predictions.get(id);
      return { status, data_removed, output };
    };
    const over = { status: 'succeeded', data_removed: true, output: null };
    await expect.poll(removed, LONG_WAIT).toEqual(over);
  });

  test('The logs of a prediction show its progress in the form that the client parses', async () => {
    const stack = await newTenant(idle);
    const jobs = storedJobs(server.url, stack);
    const { client } = replicate(stack);
    const { id } = await client.predictions.create({ model: 'lehr/tiny', input: CIRCLE });
    const [job] = await jobs.jobs();
    await jobs.start(job!);
    const progress = { fraction: 0.25, stage: 'denoise', step: 2, steps: 8 };
    await jobs.records.apply([{ move: 'progress', id: job!, lease: jobs.lease, fields: { progress } }]);
    const running = await client.predictions.get(id);
    expect(parseProgressFromLogs(running)).toEqual({ percentage: 0.25, current: 2, total: 8 });
  });
});

describe('the prediction list', () => {
  test('The prediction list has pages of a hundred, newest first, and includes native jobs', async () => {
    const stack = await newTenant(idle);
    const native = await stack.post();
    const { client } = replicate(stack);
    for (let i = 0; i < 102; i++) await stack.post({ seed: i });
    const last = await client.predictions.create({ model: 'lehr/tiny', input: CIRCLE });
    const first = await client.predictions.list();
    expect(first.results).toHaveLength(100);
    expect(first.previous ?? null).toBeNull();
    expect(first.next).toContain(`${stack.url}/v1/predictions?cursor=`);
    const pages: Prediction[][] = [];
    for await (const page of client.paginate(client.predictions.list)) pages.push(page);
    expect(pages.map(({ length }) => length)).toEqual([100, 4]);
    const ids = pages.flat().map(({ id }) => id);
    expect(ids[0]).toBe(last.id);
    expect(ids.at(-1)).toBe(native.id.slice(4));
    expect([...ids].sort().reverse()).toEqual(ids);
  });
});

test('A prediction stream has outputs, logs and the end, and needs no key', { tags: ['long'] }, async () => {
  const stack = await startStack(server);
  const { client, calls } = replicate(stack);
  const worker = stack.worker();
  const events: [string, string][] = [];
  const input = { ...CIRCLE, num_outputs: 2, num_inference_steps: 200 };
  for await (const { event, data } of client.stream('lehr/tiny', { input })) events.push([event, data]);
  // The next prediction must not be drawn.
  await (await worker).stop();
  const outputs = events.filter(([event]) => event === 'output').map(([, data]) => data);
  expect(outputs).toHaveLength(2);
  for (const link of outputs) expect((await fetch(link)).status).toBe(200);
  expect(events.at(-1)).toEqual(['done', '{}']);
  const logs = events.filter(([event]) => event === 'logs');
  for (const [, line] of logs) expect(parseProgressFromLogs(line)?.total).toBeGreaterThan(0);
  expect(calls.at(-1)?.path).toMatch(/^\/streams\//);

  const { urls, id } = await client.predictions.create({
    model: 'lehr/tiny',
    input: { ...CIRCLE, num_inference_steps: 900 },
  });
  const stream = await fetch(urls.stream ?? '');
  await client.predictions.cancel(id);
  expect(await stream.text()).toContain('event: done\ndata: {"reason":"canceled"}');
  const forged = await fetch((urls.stream ?? '').replace(id, '01jd3v9s6w0000000000000000'));
  expect(forged.status).toBe(403);
});

describe('refused prediction requests', () => {
  const REFUSED: readonly [input: object, pointer: string][] = [
    [{}, '/input/prompt'],
    [{ prompt: 7 }, '/input/prompt'],
    [{ ...CIRCLE, width: 64.5 }, '/input/width'],
    [{ ...CIRCLE, width: 65 }, '/input/width'],
    [{ ...CIRCLE, num_outputs: 0 }, '/input/num_outputs'],
    [{ ...CIRCLE, num_outputs: 9 }, '/input/num_outputs'],
    [{ ...CIRCLE, num_inference_steps: 1001 }, '/input/num_inference_steps'],
    [{ ...CIRCLE, guidance_scale: 'much' }, '/input/guidance_scale'],
    [{ ...CIRCLE, output_format: 'gif' }, '/input/output_format'],
    // Field names of the native dialect are unknown here.
    [{ ...CIRCLE, steps: 4 }, '/input/steps'],
    [{ ...CIRCLE, audio: 'https://app.example/a.wav' }, '/input/audio'],
  ];

  test('Invalid input is a 422 that names its field and is not retried', async () => {
    const stack = await newTenant(idle);
    const { client, calls } = replicate(stack);
    for (const [input, pointer] of REFUSED) {
      const error = await refused(client.run('lehr/tiny', { input }));
      expect(error.response.status, JSON.stringify(input)).toBe(422);
      const problem = problemIn(error);
      expect(problem).toMatchObject({
        type: 'urn:lehr:problem:invalid-input',
        title: 'Invalid input',
        status: 422,
      });
      expect(problem.errors[0].pointer).toBe(pointer);
      expect(problem.detail).toContain(pointer.slice(1).replace('/', '.'));
    }
    expect(calls).toHaveLength(REFUSED.length);
    const hook = await refused(
      client.predictions.create({ model: 'lehr/tiny', input: CIRCLE, webhook: 'http://169.254.169.254/' }),
    );
    expect(problemIn(hook).errors[0].pointer).toBe('/webhook');
    const filter = { webhook: 'https://app.example/', webhook_events_filter: ['end' as 'start'] };
    const events = await refused(client.predictions.create({ model: 'lehr/tiny', input: CIRCLE, ...filter }));
    expect(problemIn(events).errors[0].pointer).toBe('/webhook_events_filter/0');
    expect(await storedJobs(server.url, stack).jobs()).toEqual([]);
  });

  test('A refusal does not repeat the value of an unknown input, because it may be the API key of a faulty client', async () => {
    const { client } = replicate(stack, { fileEncodingStrategy: 'data-uri' });
    const error = await refused(client.predictions.create({ model: 'lehr/tiny', input: CIRCLE }));
    expect(error.response.status).toBe(422);
    expect(problemIn(error).errors.map(({ pointer }: { pointer: string }) => pointer)).toContain(
      '/input/auth',
    );
    expect(error.message).not.toContain(stack.key);
    expect(JSON.stringify(stack.api.lines)).not.toContain(stack.key);
    const jobs = storedJobs(server.url, stack);
    for (const key of await jobs.redis.keys(`${jobs.keys.prefix}:*`)) {
      const kept = await jobs.redis.dump(key);
      expect(kept?.includes(stack.key) ?? false, key).toBe(false);
    }
  });

  test('A wrong key is a 401, an unknown object a 404, and a body that is too large a 413', async () => {
    const { client, calls } = replicate(stack);
    const wrongKey = replicate({ ...stack, key: 'r8_nobody' });
    expect(problemIn(await refused(wrongKey.client.predictions.list()))).toMatchObject({
      status: 401,
      title: 'Not authenticated',
    });
    const missing = [
      () => client.predictions.get('01jd3v9s6w0000000000000000'),
      () => client.predictions.get('nothing'),
      () => client.predictions.cancel('01jd3v9s6w0000000000000000'),
      () => client.predictions.create({ model: 'stability-ai/sdxl', input: CIRCLE }),
      () => client.predictions.create({ model: 'lehr/sdxl', input: CIRCLE }),
      () => client.predictions.create({ version: 'a'.repeat(64), input: CIRCLE }),
      () => client.predictions.create({ version: 'lehr/tiny:2', input: CIRCLE }),
      () => client.predictions.create({ version: 'tiny@2', input: CIRCLE }),
      () => client.models.get('lehr', 'sdxl'),
      () => client.files.get('nothing'),
    ];
    for (const call of missing) {
      expect(problemIn(await refused(call()))).toMatchObject({ status: 404, title: expect.any(String) });
    }
    const huge = { prompt: 'x'.repeat(16 * 1024 * 1024) };
    expect(
      (await refused(client.predictions.create({ model: 'lehr/tiny', input: huge }))).response.status,
    ).toBe(413);
    for (const { headers } of calls) expect(headers.get('x-request-id')).toBeTruthy();
  });

  test('A request above a limit is a 429, and polls and cancels still work after the six attempts of the client', async () => {
    const { client, calls } = replicate(await newTenant(idle, { max_jobs: 1 }));
    const { id } = await client.predictions.create({ model: 'lehr/tiny', input: CIRCLE });
    const error = await refused(client.predictions.create({ model: 'lehr/tiny', input: CIRCLE }));
    expect(problemIn(error)).toMatchObject({ status: 429, title: 'Too many requests' });
    expect(calls.filter(({ status }) => status === 429)).toHaveLength(6);
    expect(Number(error.response.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    // Polls and cancels are never refused for it.
    expect((await client.predictions.get(id)).status).toBe('starting');
    expect((await client.predictions.cancel(id)).status).toBe('canceled');
  });

  test('A request to a queue that is too long is a 503 that is not retried, and polls still work', {
    tags: ['long'],
  }, async () => {
    const stack = await startStack(server, { LEHR_MAX_WAIT_S: '0.01' });
    // More urgent, so it runs first although it is long.
    const { id } = await stack.post({ steps: 900 }, { priority: 'interactive' });
    const { client, calls } = replicate(stack);
    const error = await refused(client.run('lehr/tiny', { input: CIRCLE }));
    expect(problemIn(error)).toMatchObject({ status: 503, title: 'Overloaded' });
    expect(calls).toHaveLength(1);
    expect((await client.predictions.get(id.slice(4))).status).toBe('starting');
  });
});

describe('a client that loses its connection', () => {
  test('A client that retries after a lost connection gets one prediction', { tags: ['long'] }, async () => {
    const stack = await startStack(server);
    const jobs = storedJobs(server.url, stack);
    let lost = 0;
    const { client } = replicate(stack, {
      fetch: async (input, init) => {
        if (init?.method !== 'POST' || lost > 0) return fetch(input, init);
        lost += 1;
        const disconnect = new AbortController();
        const answer = fetch(input, { ...init, signal: disconnect.signal }).catch(() => {});
        const [id] = await jobs.untilJobs(1);
        disconnect.abort();
        await answer;
        const unanswered = `${jobs.keys.unanswered('')}*`;
        await expect.poll(async () => adoptable(jobs, unanswered, id!), LONG_WAIT).toBe(true);
        await stack.worker();
        throw new TypeError('fetch failed');
      },
    });
    const input = { ...CIRCLE, num_inference_steps: 900 };
    expect(await client.run('lehr/tiny', { input })).toHaveLength(1);
    expect(lost).toBe(1);
    expect(await jobs.jobs()).toHaveLength(1);
    // A lost connection does not cancel a prediction.
    expect(await jobs.redis.zcard(jobs.keys.abandoned)).toBe(0);
  });

  test('Duplicate held requests make at most four predictions', async () => {
    const world = await apiWorld(server.url);
    const body = { version: 'lehr/tiny', input: CIRCLE };
    const calls: Promise<Response>[] = [];
    for (let held = 1; held <= 6; held++) {
      calls.push(world.ask('POST', '/v1/predictions', body, { headers: { prefer: 'wait' } }));
      await expect.poll(() => world.parts.waits.size, LONG_WAIT).toBe(held);
    }
    world.parts.waits.stop();
    const answers = await Promise.all(calls);
    const ids = await Promise.all(answers.map(async (each) => ((await each.json()) as Prediction).id));
    expect(new Set(ids).size).toBe(4);
  });

  /** Whether the next duplicate request would adopt the job. */
  async function adoptable(
    { redis }: ReturnType<typeof storedJobs>,
    pattern: string,
    id: string,
  ): Promise<boolean> {
    for (const key of await redis.keys(pattern)) {
      const score = await redis.zscore(key, id);
      if (score !== null && score !== 'inf') return true;
    }
    return false;
  }
});

test('When a server stops, it answers held predictions with their current state, and their jobs continue', {
  tags: ['long'],
}, async () => {
  const stack = await startStack(server);
  const jobs = storedJobs(server.url, stack);
  const { client, calls } = replicate(stack);
  const held = client.predictions.create({ model: 'lehr/tiny', input: CIRCLE, wait: true });
  const [id] = await jobs.untilJobs(1);
  await jobs.start(id!);
  await stack.api.stop();
  expect(await held).toMatchObject({ status: 'starting', output: null });
  expect(calls[0]?.status).toBe(202);
  expect((await jobs.records.read(id!))?.state).toBe('running');
});

describe('webhooks', () => {
  const open = { LEHR_EGRESS_ALLOW: '*' };

  test('A webhook has the prediction as it was at the event and is signed with the default secret', async () => {
    const stack = await startStack(server, open);
    const receiver = await webhookReceiver();
    const { client } = replicate(stack);
    const { key: secret } = await client.webhooks.default.secret.get();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(await client.webhooks.default.secret.get()).toEqual({ key: secret });
    const { id } = await client.predictions.create({
      model: 'lehr/tiny',
      input: CIRCLE,
      webhook: receiver.url,
      webhook_events_filter: ['start', 'completed'],
    });
    await stack.worker();
    const received = await receiver.until(2);
    for (const each of received) expect(await verified(each, secret)).toBe(true);
    const predictions = received.map(({ body }) => JSON.parse(body) as Prediction);
    expect(predictions.map(({ status }) => status).sort()).toEqual(['processing', 'succeeded']);
    expect(new Set(received.map((each) => each.id)).size).toBe(2);
    const done = predictions.find(({ status }) => status === 'succeeded');
    const shown = await client.predictions.get(id);
    expect({ ...done, output: null, urls: null }).toEqual({ ...shown, output: null, urls: null });
    expect(done).not.toHaveProperty('type');
    expect((await fetch(done?.output[0])).status).toBe(200);
  });

  test('A webhook without a filter sends the end once, and one with the logs filter sends progress', async () => {
    const stack = await startStack(server, open);
    const jobs = storedJobs(server.url, stack);
    const receiver = await webhookReceiver();
    const { client } = replicate(stack);
    const { id } = await client.predictions.create({
      model: 'lehr/tiny',
      input: CIRCLE,
      webhook: receiver.url,
    });
    await client.predictions.cancel(id);
    const [end] = await receiver.until(1);
    expect(JSON.parse(end?.body ?? '')).toMatchObject({ id, status: 'canceled', output: null });

    const logs = await webhookReceiver(500);
    await client.predictions.create({
      model: 'lehr/tiny',
      input: CIRCLE,
      webhook: logs.url,
      webhook_events_filter: ['logs'],
    });
    const [, job] = await jobs.jobs();
    await jobs.start(job!);
    const progress = { fraction: 0.5, stage: 'denoise', step: 4, steps: 8 };
    await jobs.records.apply([{ move: 'progress', id: job!, lease: jobs.lease, fields: { progress } }]);
    const [line] = await logs.until(1);
    const prediction = JSON.parse(line?.body ?? '') as Prediction;
    expect(prediction.status).toBe('processing');
    expect(parseProgressFromLogs(prediction)).toMatchObject({ percentage: 0.5 });
    // Only the end event is retried, so each receiver has exactly one delivery.
    await stack.api.stop();
    expect(receiver.received).toHaveLength(1);
    expect(logs.received).toHaveLength(1);
  });
});

test('Models are listed and found under their owner', async () => {
  const { client } = replicate(stack);
  expect(await client.models.list()).toMatchObject({
    results: [{ owner: 'lehr', name: 'tiny', visibility: 'private' }],
    next: null,
  });
  expect(await client.models.get('lehr', 'tiny')).toMatchObject({
    url: `${stack.url}/v1/models/lehr/tiny`,
    owner: 'lehr',
    name: 'tiny',
    latest_version: { id: 'tiny@1' },
  });
  const [version, ...others] = await client.models.versions
    .list('lehr', 'tiny')
    .then((list) => (list as unknown as { results: { id: string }[] }).results);
  expect(others).toEqual([]);
  for (const id of ['1', 'tiny@1'])
    expect(await client.models.versions.get('lehr', 'tiny', id)).toEqual(version);
  await expect(client.models.versions.get('lehr', 'tiny', '2')).rejects.toThrow(/404/);
});

/** The fields without a default in models of the client for Python, which refuses an answer that lacks one. */
const PYTHON_FIELDS = {
  model: ['url', 'owner', 'name', 'visibility', 'run_count'],
  version: ['id', 'created_at', 'cog_version', 'openapi_schema'],
  file: ['id', 'name', 'content_type', 'size', 'etag', 'checksums', 'metadata', 'created_at', 'urls'],
};

test("Models, versions and files have the fields that Replicate's client for Python requires", async () => {
  const { client } = replicate(stack);
  const [listed] = (await client.models.list()).results;
  const model = await client.models.get('lehr', 'tiny');
  expect(listed).toEqual(model);
  expect(Object.keys(model)).toEqual(expect.arrayContaining(PYTHON_FIELDS.model));
  const version = model.latest_version!;
  expect(Object.keys(version)).toEqual(expect.arrayContaining(PYTHON_FIELDS.version));
  const { schemas } = (version.openapi_schema as { components: { schemas: Record<string, object> } })
    .components;
  // A list without `x-cog-array-type` is the output itself and not a stream of outputs.
  expect(schemas.Output).toEqual({
    title: 'Output',
    type: 'array',
    items: { type: 'string', format: 'uri' },
  });
  expect(schemas.Input).toMatchObject({
    type: 'object',
    required: ['prompt'],
    properties: { prompt: { type: 'string' }, num_inference_steps: { type: 'integer', default: 8 } },
  });
  const file = await client.files.create(new Blob(['RIFF']), { order: '81' });
  expect(Object.keys(file)).toEqual(expect.arrayContaining(PYTHON_FIELDS.file));
  expect(file).toMatchObject({ etag: file.checksums.sha256, metadata: { order: '81' } });
});
