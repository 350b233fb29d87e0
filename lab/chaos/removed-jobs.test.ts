import { expect, test } from 'vitest';
import type { Job } from '../../packages/shared/src/index.ts';
import { mayBeRemoved } from './removed-jobs.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const MINUTE_MS = 60_000;

const seen = (id: string, status: Job['status'], endedAfterMs?: number) => {
  const finished_at = endedAfterMs === undefined ? null : new Date(START + endedAfterMs).toISOString();
  return { at: START, via: 'answer' as const, job: { id, status, finished_at } as Job };
};
const posted = (id: string, hasWebhook = false) => ({ id, hasWebhook });
const FULL = [{ from: START + 5 * MINUTE_MS, to: START + 6 * MINUTE_MS }];

test('A job that ended a minute before Redis was full may be gone, also when only its webhook showed its end', () => {
  const submissions = [posted('read'), posted('delivered', true)];
  const sightings = [seen('read', 'succeeded', MINUTE_MS), seen('delivered', 'canceled', 2 * MINUTE_MS)];
  const isRemoved = mayBeRemoved({ submissions, sightings }, FULL, new Set(['delivered']));
  expect(['read', 'delivered'].map(isRemoved)).toEqual([true, true]);
});

test('A job is lost that was not seen in its end, ended too late, has an undelivered webhook, or vanished while Redis had room', () => {
  const submissions = [posted('never seen'), posted('running'), posted('late'), posted('undelivered', true)];
  const sightings = [
    seen('running', 'running'),
    seen('late', 'succeeded', 6 * MINUTE_MS),
    seen('undelivered', 'succeeded', MINUTE_MS),
  ];
  const isRemoved = mayBeRemoved({ submissions, sightings }, FULL, new Set());
  expect(submissions.map(({ id }) => isRemoved(id))).toEqual([false, false, false, false]);
  const early = [seen('early', 'succeeded', MINUTE_MS)];
  expect(mayBeRemoved({ submissions: [posted('early')], sightings: early }, [], new Set())('early')).toBe(
    false,
  );
});
