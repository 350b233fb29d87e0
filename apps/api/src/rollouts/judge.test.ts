import { type Samples, totalEvidence } from '@lehr/shared';
import { expect, test } from 'vitest';
import { storedRollout } from '../../../../test/support/stored-rollout.ts';
import { judgeRollout, shownEvidence } from './judge.ts';
import type { StoredRollout } from './rollout.ts';

const ROLLOUT = storedRollout({ auto_rollback: true, promote_after: 100, steps: [10, 50, 100] });
const GOOD: Samples = {
  stable: { jobs: 900, failed: 9 },
  canary: { jobs: 100, failed: 1 },
  pairs: { slower: 20, faster: 75 },
};
const FAILING: Samples = { ...GOOD, stable: { jobs: 400, failed: 3 }, canary: { jobs: 40, failed: 12 } };
const SLOW: Samples = { ...GOOD, pairs: { slower: 30, faster: 1 } };

const judged = (samples: Samples, changes: Partial<StoredRollout> = {}, { isServed = true } = {}) => {
  const rollout = { ...ROLLOUT, ...changes };
  const analysis = { samples, evidence: totalEvidence(samples, rollout.carried) };
  return judgeRollout(rollout, analysis, { now: 7, isServed });
};

test('A canary that fails more often is rolled back with both counts, the evidence and the limit as the reason', () => {
  const step = judged(FAILING);
  expect(step).toMatchObject({ action: 'rolled-back', after: { state: 'rolled-back', changed_by: 'lehr' } });
  expect(step?.reason).toMatch(
    /^12 of 40 canary jobs failed, 3 of 400 stable ones; evidence \d{4,}, limit 400$/,
  );
});

test('A slower canary is rolled back, and the reason says in how many comparisons it was slower', () => {
  expect(judged(SLOW)?.reason).toMatch(
    /^of 31 canary jobs 30 took more than 1\.25 times as long as a comparable stable one; evidence \d+, limit 400$/,
  );
});

test('A canary that is failing or slow is left alone when that was asked for, and is not promoted either', () => {
  for (const samples of [FAILING, SLOW]) expect(judged(samples, { auto_rollback: false })).toBeUndefined();
});

test('A good canary goes from step to step and is promoted after the last one before 100 %', () => {
  expect(judged(GOOD)).toMatchObject({ action: 'changed', after: { weight: 50, state: 'running' } });
  expect(judged(GOOD)?.reason).toMatch(/^100 canary jobs ended at 10 %, 1 of them failed; evidence/);
  expect(judged(GOOD, { weight: 50 })).toMatchObject({ action: 'promoted', after: { state: 'promoted' } });
  expect(judged(GOOD, { steps: [] })).toMatchObject({ action: 'promoted' });
});

test('A canary is not promoted before its jobs have ended, without a plan, without a worker, or in doubt', () => {
  expect(judged({ ...GOOD, canary: { jobs: 99, failed: 0 } })).toBeUndefined();
  expect(judged(GOOD, { promote_after: null })).toBeUndefined();
  expect(judged(GOOD, {}, { isServed: false })).toBeUndefined();
  const doubtful = { ...GOOD, canary: { jobs: 100, failed: 8 } };
  expect(shownEvidence(totalEvidence(doubtful).failures)).toBeGreaterThan(10);
  expect(judged(doubtful)).toBeUndefined();
});

test('Nothing is decided from fewer than ten jobs of each version', () => {
  const few = { ...FAILING, canary: { jobs: 9, failed: 9 } };
  expect(shownEvidence(totalEvidence(few).failures)).toBeGreaterThan(400);
  expect(judged(few)).toBeUndefined();
  expect(judged({ ...few, canary: { jobs: 10, failed: 10 } })?.action).toBe('rolled-back');
});

test('A paused or ended rollout is not judged', () => {
  for (const state of ['paused', 'promoted', 'rolled-back'] as const) {
    expect(judged(FAILING, { state })).toBeUndefined();
  }
});

test('Evidence is shown with two digits below ten, whole above, and never as more than a billion', () => {
  expect([0.4123, 1, 12.6, 1e30].map((evidence) => shownEvidence(Math.log(evidence)))).toEqual([
    0.41, 1, 13, 1e9,
  ]);
});
