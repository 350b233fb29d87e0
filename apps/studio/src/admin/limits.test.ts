import { DEFAULT_LIMITS } from '@lehr/shared';
import { expect, test } from 'vitest';
import { limitsOf, SHOWN_DEFAULTS } from './limits.ts';

test('A key shows only the limits that differ from the defaults of the API', () => {
  expect(SHOWN_DEFAULTS).toEqual(DEFAULT_LIMITS);
  expect(limitsOf(DEFAULT_LIMITS)).toBe('the defaults');
  const limits = {
    ...DEFAULT_LIMITS,
    max_jobs: 20,
    max_backlog_share: 0.25,
    weight: 3,
    max_priority: 'bulk' as const,
  };
  expect(limitsOf(limits)).toBe('20 unfinished jobs, 25 % of the longest wait, at most bulk, weight 3');
});
