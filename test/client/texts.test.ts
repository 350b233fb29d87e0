/** Texts with the client of Lehr and the command `lehr`. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Lehr } from '../../packages/client/src/index.ts';
import { type JobId, toObjectKey } from '../../packages/shared/src/index.ts';
import { API_KEY } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { answerStored, embeddingOf, type TextWorld, textWorld } from '../support/text-world.ts';
import { lehrFor } from './lehr-command.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const commandFor = ({ url }: TextWorld) => lehrFor({ url, key: API_KEY });

test('The client runs each of the text tasks and returns its result', async () => {
  const { url } = await textWorld(server.url);
  const lehr = new Lehr({ url, apiKey: API_KEY });
  const embedded = await lehr.run({ type: 'text-embedding', input: { texts: ['a', 'b c'] } });
  expect(embedded.output).toEqual({
    embeddings: ['a', 'b c'].map(embeddingOf),
    dimensions: 4,
    tokens: 7,
  });
  const pair = { text: 'a', pair: 'b' };
  const classified = await lehr.run({ type: 'text-classification', input: { texts: [pair], top_k: 1 } });
  expect(classified.output).toEqual({ labels: [[{ label: 'pair', score: 0.75 }]], tokens: 5 });
  const filled = await lehr.run({ type: 'fill-mask', input: { texts: ['a [MASK]'], top_k: 1 } });
  const fill = { score: 0.5, token: 100, token_str: 'circle', sequence: 'a circle' };
  expect(filled.output).toEqual({ fills: [[[fill]]], tokens: 4 });
  const found = await lehr.run({ type: 'token-classification', input: { texts: ['Ada'] } });
  const entity = { label: 'PER', score: 0.5, word: 'Ada', start: 0, end: 3 };
  expect(found.output).toEqual({ entities: [[entity]], tokens: 3 });
});

test('A text that is too long fails its job with its place and its length, and is cut on request', async () => {
  const { url } = await textWorld(server.url);
  const lehr = new Lehr({ url, apiKey: API_KEY });
  const texts = ['a', 'a b c d e f g h i j k l'];
  const failed = lehr.run({ type: 'text-embedding', input: { texts } });
  await expect(failed).rejects.toMatchObject({
    code: 'invalid-input',
    message: expect.stringContaining('input.texts[1] has 14 tokens, and minilm@1 takes at most 12'),
  });
  const cut = await lehr.run({ type: 'text-embedding', input: { texts, truncate: true } });
  expect(cut.output).toMatchObject({ tokens: 15, truncated: [1] });
});

test('lehr embed writes one embedding a line, of its operands or of the lines of a file', async () => {
  const lehr = commandFor(await textWorld(server.url));
  const lines = ['a', 'b c'].map((text) => `${JSON.stringify(embeddingOf(text))}\n`).join('');
  expect(await lehr(['embed', 'a', 'b c'])).toMatchObject({ code: 0, stdout: lines });
  expect(await lehr(['embed', '--file', '-'], { stdin: 'a\n\nb c\n' })).toMatchObject({
    code: 0,
    stdout: lines,
  });
  const short = JSON.parse((await lehr(['embed', 'a', '--dimensions', '2'])).stdout);
  expect(short).toEqual(embeddingOf('a').slice(0, 2));
  expect(await lehr(['embed'])).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('TEXT is missing'),
  });
  const long = await lehr(['embed', 'a b c d e f g h i j k l']);
  expect(long).toMatchObject({ code: 2, stderr: expect.stringContaining('has 14 tokens') });
});

test('lehr classify writes the best label of each text', async () => {
  const lehr = commandFor(await textWorld(server.url));
  const { stdout } = await lehr(['classify', 'a red circle', 'two circles']);
  expect(stdout).toBe('LABEL  SCORE   TEXT\none    0.7500  a red circle\none    0.7500  two circles\n');
  const all = await lehr(['classify', 'a', '--top-k', '2', '--json']);
  expect(JSON.parse(all.stdout).output.labels[0]).toHaveLength(2);
});

const DIMENSIONS = 1024;
/** 96 embeddings, which are too large for a job. */
const LARGE = Float32Array.from({ length: 96 * DIMENSIONS }, (_, i) => Math.fround(i / 10));
const texts = Array.from({ length: 96 }, (_, i) => `text ${i}`);
const rows = texts.map((_, i) => [...LARGE.subarray(i * DIMENSIONS, (i + 1) * DIMENSIONS)]);
const answerLarge = (world: TextWorld): Promise<void> =>
  answerStored(world, 'text.minilm@1', {
    embeddings: Buffer.from(LARGE.buffer).toString('base64'),
    dimensions: DIMENSIONS,
  });

test('The client follows the link to a result that is too large for its job', async () => {
  const world = await textWorld(server.url, {}, false);
  const lehr = new Lehr({ url: world.url, apiKey: API_KEY });
  const [job] = await Promise.all([
    lehr.run({ type: 'text-embedding', input: { texts } }),
    answerLarge(world),
  ]);
  expect(job.output).toEqual({ embeddings: rows, dimensions: DIMENSIONS, tokens: 1 });
  const linked = await lehr.get(job.id);
  expect(linked.output).toMatchObject({ tokens: 1, result_url: expect.stringMatching(/^http/) });
  expect(await lehr.outputs(linked)).toEqual(job.output);
  const record = await world.parts.records.read(job.id as JobId);
  const key = record?.state === 'succeeded' && record.output.text?.key;
  await world.parts.store.delete(toObjectKey(String(key)));
  await expect(lehr.outputs(linked)).rejects.toMatchObject({ code: 'not-found', status: 404 });
});

test('The outputs of a job that has not succeeded are refused with the reason', async () => {
  const world = await textWorld(server.url, {}, false);
  const lehr = new Lehr({ url: world.url, apiKey: API_KEY });
  const job = await lehr.submit({ type: 'text-embedding', input: { texts: ['a'] } });
  await expect(lehr.outputs(job)).rejects.toMatchObject({ code: 'invalid-request', jobId: job.id });
  await expect(lehr.outputs(await lehr.cancel(job.id))).rejects.toMatchObject({ code: 'job-canceled' });
});

test('lehr embed and lehr classify write results that are too large for their job', async () => {
  const world = await textWorld(server.url, {}, false);
  const lehr = commandFor(world);
  const [embedded] = await Promise.all([lehr(['embed', ...texts]), answerLarge(world)]);
  expect(embedded).toMatchObject({ code: 0, stdout: rows.map((row) => `${JSON.stringify(row)}\n`).join('') });
  const label = 'x'.repeat(5000);
  const labels = texts.map(() => [{ label, score: 0.5 }]);
  const [classified] = await Promise.all([
    lehr(['classify', ...texts]),
    answerStored(world, 'text.words@1', { labels }),
  ]);
  expect(classified.stdout).toContain(`${label}  0.5000  text 95\n`);
});
