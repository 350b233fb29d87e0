/** The classic dialect, POST /t2i, against a running Lehr. */
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { pictureFile } from '../support/picture-file.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { storedJobs } from '../support/stored-jobs.ts';

/** Each test starts a whole installation, possibly on a busy machine. */
vi.setConfig({ testTimeout: 180_000 });

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const CIRCLE = {
  prompt: 'a red circle',
  negative_prompt: 'green',
  width: 64,
  height: 64,
  inference_steps: 4,
  guidance_scale: 2,
  seed: 7,
  n: 1,
};

const pixels = async (response: Response): Promise<Buffer> =>
  sharp(await response.arrayBuffer())
    .raw()
    .toBuffer();
const problemOf = async (answer: Promise<Response>) => {
  const response = await answer;
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  return (await response.json()) as { status: number; detail: string; errors: { pointer: string }[] };
};

test('POST /t2i answers with the bytes of the picture and a content-length', { tags: ['long'] }, async () => {
  const stack = await startStack(server);
  await stack.worker();
  const answers = await Promise.all([1, 2, 3].map(() => stack.ask('POST', '/t2i', CIRCLE)));
  for (const response of answers) {
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(response.headers.has('transfer-encoding')).toBe(false);
    const bytes = new Uint8Array(await response.clone().arrayBuffer());
    expect(Number(response.headers.get('content-length'))).toBe(bytes.length);
    expect(pictureFile(bytes)).toEqual({ format: 'png', size: '64x64' });
  }
  const [one, two, three] = await Promise.all(answers.map(pixels));
  expect(one!.equals(two!) && two!.equals(three!)).toBe(true);
  const least = await stack.ask('POST', '/t2i', { prompt: 'a red circle', seed: null, batch: 'whatever' });
  expect(least.status).toBe(200);
  const both = await stack.ask('POST', '/t2i', { ...CIRCLE, n: 2 });
  expect((await pixels(both.clone())).equals(one!)).toBe(true);
  const [, link] = /^<([^>]+)>; rel="item"$/.exec(both.headers.get('link') ?? '') ?? [];
  expect((await pixels(await fetch(link ?? ''))).equals(one!)).toBe(false);
});

test('POST /t2i names its own fields in a refusal, and a job that outlasts its request continues', {
  tags: ['long'],
}, async () => {
  const stack = await startStack(server, { LEHR_HOLD_S: '1' });
  const refused = async (fields: object) => {
    const { status, errors } = await problemOf(stack.ask('POST', '/t2i', { ...CIRCLE, ...fields }));
    return [status, ...errors.map(({ pointer }) => pointer)];
  };
  expect(await refused({ prompt: undefined })).toEqual([422, '/prompt']);
  expect(await refused({ inference_steps: 0 })).toEqual([422, '/inference_steps']);
  expect(await refused({ guidance_scale: 'much' })).toEqual([422, '/guidance_scale']);
  expect(await refused({ width: 65, n: 9 })).toEqual([422, '/n']);
  expect(await refused({ width: 65 })).toEqual([422, '/width']);
  expect((await problemOf(anonymous(stack))).status).toBe(401);
  const jobs = storedJobs(server.url, stack);
  expect(await jobs.jobs()).toEqual([]);
  expect((await problemOf(stack.ask('POST', '/t2i', CIRCLE))).status).toBe(504);
  await stack.worker();
  // Draws the first job, because the first picture of a worker takes longer than this API holds a request.
  const [id] = await jobs.jobs();
  await stack.over(id);
  expect((await stack.ask('POST', '/t2i', CIRCLE)).status).toBe(200);
  expect(await jobs.jobs()).toHaveLength(1);
  const failing = problemOf(stack.ask('POST', '/t2i', { ...CIRCLE, inference_steps: 1000 }));
  expect((await failing).status).toBeGreaterThanOrEqual(400);
});

const anonymous = ({ url }: Stack): Promise<Response> =>
  fetch(`${url}/t2i`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(CIRCLE),
  });
