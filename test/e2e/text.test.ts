/** The text tasks through API, queue, worker and engine, with the real exports of lab/real/text. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { estimateTokens, type Job, type JobId, textCostMs } from '../../packages/shared/src/index.ts';
import { keysOf } from '../../packages/shared/src/redis/index.ts';
import { readEvents } from '../support/event-stream.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import type { Stack } from '../support/stack.ts';
import { expectedOf } from '../support/text-fixtures.ts';
import { textStack } from '../support/text-stack.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

async function run(stack: Stack, type: string, input: object): Promise<Job> {
  const response = await stack.ask('POST', '/v1/jobs', { type, input });
  expect(response.status).toBe(202);
  return stack.over(((await response.json()) as Job).id);
}

test('A job of each type is answered with what transformers computes, and its timings sum to its total', async () => {
  const stack = await textStack(server, [
    'bert-sentences',
    'bert-classes',
    'bert-fill-mask',
    'bert-entities',
  ]);
  const [sentence] = expectedOf<{ text: string; normalized: number[] }>('bert-sentences').cases;
  const embedded = await run(stack, 'text-embedding', { texts: [sentence.text] });
  expect(embedded).toMatchObject({ status: 'succeeded', output: { dimensions: 32 } });
  for (const [i, value] of sentence.normalized.entries()) {
    expect(embedded.output?.embeddings?.[0][i]).toBeCloseTo(value, 5);
  }
  const [{ text, labels }] = expectedOf<{ text: string; labels: { label: string }[] }>('bert-classes').cases;
  const classified = await run(stack, 'text-classification', { texts: [text] });
  expect(classified.output?.labels?.[0].map(({ label }) => label)).toEqual(labels.map(({ label }) => label));
  const [mask] = expectedOf<{ text: string; fills: { sequence: string }[][] }>('bert-fill-mask').cases;
  const filled = await run(stack, 'fill-mask', { texts: [mask.text] });
  expect(filled.output?.fills?.[0][0][0].sequence).toBe(mask.fills[0][0].sequence);
  const found = await run(stack, 'token-classification', {
    texts: ['Ada Lovelace met Charles Babbage in London.'],
  });
  expect(found.output?.entities?.[0].length).toBeGreaterThan(0);
  for (const { metrics } of [embedded, classified, filled, found]) {
    const { timings, total_ms: total } = metrics ?? { timings: {}, total_ms: -1 };
    expect(Object.values(timings).reduce((sum, part) => sum + part, 0)).toBe(total);
  }
});

test('A job is charged for the tokens that the model read, not for the length of the texts that it cut', {
  tags: ['long'],
}, async () => {
  const stack = await textStack(server, ['bert-sentences']);
  const texts = Array.from({ length: 10 }, () => 'circle '.repeat(9000));
  const job = await run(stack, 'text-embedding', { texts, truncate: true });
  expect(job).toMatchObject({ status: 'succeeded', output: { tokens: 480 } });
  const record = keysOf(stack.namespace).record(job.id as JobId);
  const cost = Number(await testRedis(server.url).hget(record, 'cost'));
  expect(cost).toBeGreaterThan(0);
  expect(cost).toBeLessThan(textCostMs(estimateTokens(texts)) / 10);
});

test('Two thousand texts come back in order, and a text that is too long fails its own job only', {
  tags: ['long'],
}, async () => {
  const stack = await textStack(server, ['bert-sentences']);
  const texts = Array.from({ length: 2000 }, (_, i) => `${'circle '.repeat(i % 9)}number ${i % 40}`);
  const long = 'circle '.repeat(60);
  const [many, bad, good] = await Promise.all([
    run(stack, 'text-embedding', { texts }),
    run(stack, 'text-embedding', { texts: ['short', long] }),
    run(stack, 'text-embedding', { texts: ['short', long], truncate: true }),
  ]);
  expect(many.status).toBe('succeeded');
  const embeddings = many.output?.embeddings ?? [];
  expect(embeddings).toHaveLength(2000);
  // Texts 3 and 363 are equal, and 4 is another one.
  expect(embeddings[363]).toEqual(embeddings[3].map((value) => expect.closeTo(value, 5)));
  expect(embeddings[4]).not.toEqual(embeddings[3]);
  expect(bad).toMatchObject({ status: 'failed', error: { code: 'invalid-input', retryable: false } });
  expect(bad.error?.detail).toMatch(/^input\.texts\[1\] has \d+ tokens, and the model takes at most 48/);
  expect(good).toMatchObject({ status: 'succeeded', output: { truncated: [1] } });
});

/** The process in which the graphs of a worker run. */
function engineOf(worker: number): number {
  const children = readFileSync(`/proc/${worker}/task/${worker}/children`, 'utf8').trim().split(' ');
  const engine = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('engine'));
  return Number(engine);
}

test.runIf(process.platform === 'linux')(
  'After a kill -9 of the engine in the middle of jobs of texts, all of them succeed in their first attempt',
  { tags: ['long'] },
  async () => {
    const stack = await textStack(server, ['bert-sentences']);
    const texts = Array.from({ length: 2000 }, (_, i) => `${'circle '.repeat(40)}number ${i}`);
    const engine = engineOf(stack.serving.pid);
    // So many that a fast engine is still at work when the progress of the first has reached this test.
    const posted = Array.from({ length: 4 }, async () => {
      const input = { texts, truncate: true };
      const response = await stack.ask('POST', '/v1/jobs', { type: 'text-embedding', input });
      return ((await response.json()) as Job).id;
    });
    const ids = await Promise.all(posted);
    // The engine reports its progress once it has run a part of the texts.
    for await (const { event } of readEvents(await stack.ask('GET', `/v1/jobs/${ids[0]}/events`))) {
      if (event === 'job.progress') break;
    }
    process.kill(engine, 'SIGKILL');
    expect((await stack.serving.logged('engine died')).running).toBeGreaterThan(0);
    for (const id of ids) {
      const job = await stack.over(id);
      expect(job).toMatchObject({ status: 'succeeded', attempt: 1 });
      expect(job.output?.dimensions).toBe(32);
    }
    const again = await run(stack, 'text-embedding', { texts: [texts[1999]], truncate: true });
    expect(again.status).toBe('succeeded');
  },
);
