/**
 * A short run of the fuzzer and its corpus. Blocks of the event loop and memory have bounds in `npm run lab -- fuzz` only, because the tests
 * beside this one would break them.
 */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { OpenApiDocument } from '../../test/support/openapi.ts';
import { runCampaign } from './campaign.ts';
import { readCorpus } from './corpus.ts';
import { batchOf } from './grammar/grammar.ts';
import { replay } from './replay.ts';
import { startTarget, type Target } from './target.ts';

const SEED = 20_261_122;
const MS = 30_000;

let target: Target;
beforeAll(async () => {
  target = await startTarget();
}, 180_000);
afterAll(() => target?.close());

test('Every request that once showed a fault is answered without one', async () => {
  const corpus = await readCorpus();
  expect(corpus.length).toBeGreaterThan(10);
  expect((await replay(target, corpus)).map(({ what }) => what)).toEqual([]);
}, 300_000);

test(`Thirty seconds of generated requests show no internal error, no unanswered request and no leak (seed ${SEED})`, {
  tags: ['long'],
}, async () => {
  const report = await runCampaign(target, { seed: SEED, ms: MS });
  expect(report.found.map(({ what, batch }) => `${what}\n${JSON.stringify(batch)}`)).toEqual([]);
  // Every part of the grammar was sent, and not every request was refused.
  for (const kind of ['json', 'multipart', 'raw', 'pipelined', 'audio'])
    expect(report.kinds).toHaveProperty(kind);
  expect(Object.keys(report.statuses).filter((name) => / 20\d$/.test(name)).length).toBeGreaterThan(5);
  expect(report.otherTenantMs.length).toBeGreaterThan(5);
});

test('A run whose time ends before its first batch finds nothing', async () => {
  const report = await runCampaign(target, { seed: SEED, ms: 1 });
  expect(report.found).toEqual([]);
});

test('The same seed makes the same requests, and another seed makes other ones', async () => {
  const document = (await (await target.ask('', 'GET', '/openapi.json')).json()) as OpenApiDocument;
  const digest = (seed: number): string =>
    createHash('sha256')
      .update(JSON.stringify(fc.sample(batchOf(document), { seed, numRuns: 50 })))
      .digest('hex');
  expect(digest(1)).toBe(digest(1));
  expect(digest(2)).not.toBe(digest(1));
});
