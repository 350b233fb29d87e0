import type { JobId, TenantId } from '@lehr/shared';
import { DIRECT_MS, MAX_DIRECT, MAX_DIRECT_COST_MS } from '@lehr/shared/direct';
import type { NewJob } from '@lehr/shared/records';
import { expect, test } from 'vitest';
import { mayBeDirect } from './direct-calls.ts';

const job = (changes: Partial<NewJob> = {}, input: object = {}): NewJob => ({
  id: 'job_1' as JobId,
  tenant: 'one' as TenantId,
  type: 'text-embedding',
  model: 'minilm@1',
  queue: 'text.minilm@1',
  priority: 'standard',
  cost: 5,
  input: { texts: ['a red circle'], ...input },
  metadata: {},
  held_by: 'a process',
  ...changes,
});

test('A small text job whose request is held may go without a record', () => {
  expect(mayBeDirect(job(), [], { duplicate: { hash: 'a' } })).toBe(true);
  expect(mayBeDirect(job({ type: 'fill-mask' }, { top_k: 5 }), [], {})).toBe(true);
});

test.each([
  ['is a picture', job({ type: 'text-to-image' })],
  ['is not held', job({ held_by: undefined })],
  ['has a webhook', job({ hook_events: 'job.succeeded' })],
  ['has a version that a rollout chose', job({ rollout: 'r canary 5 1' })],
  ['repeats another job', job({ retried_from: 'job_0' as JobId })],
  ['takes longer than a tenth of a second', job({ cost: 101 })],
  ['has nine texts', job({}, { texts: Array.from({ length: 9 }, () => 'a') })],
  ['has a long text', job({}, { texts: ['a'.repeat(9000)] })],
  ['has a text of too many bytes', job({}, { texts: ['\u{1f534}'.repeat(2100)] })],
  ['may have many masks', job({ type: 'fill-mask' }, { texts: ['[MASK]'.repeat(160)] })],
  ['wants many tokens', job({ type: 'fill-mask' }, { top_k: 101 })],
])('A job that %s has a record', (_, each) => {
  expect(mayBeDirect(each, [], {})).toBe(false);
});

test('The jobs without a record that a worker may have end before they are given up', () => {
  expect(MAX_DIRECT * MAX_DIRECT_COST_MS).toBeLessThan(DIRECT_MS);
});

test('A request with an Idempotency-Key or with stored texts has a record', () => {
  expect(mayBeDirect(job(), [], { idempotency: { hash: 'a', fingerprint: 'b' } })).toBe(false);
  expect(mayBeDirect(job(), ['texts'], {})).toBe(false);
});
