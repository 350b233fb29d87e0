import type { Job, JobId, TenantId } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import { keysOf, type Redis } from '@lehr/shared/redis';
import { expect, test, vi } from 'vitest';
import { manualClock } from '../../../../test/support/manual-clock.ts';
import { JobPages } from './job-pages.ts';
import type { Presenter } from './present.ts';

const record = (tenant: string, id: string, more: object = { workflow: { nodes: [] } }) =>
  ({ tenant: tenant as TenantId, id: id as JobId, ...more }) as JobRecord;

/** A presenter that shows a job when `show` is called with its id. */
function heldPresenter() {
  const held = new Map<string, () => void>();
  const job = ({ id }: JobRecord) =>
    new Promise<Job>((resolve) => held.set(id, () => resolve({ id } as unknown as Job)));
  return { begun: held, show: (id: string) => held.get(id)?.(), presenter: { job } as unknown as Presenter };
}

const openPages = (presenter: Presenter) =>
  new JobPages({ defineCommand: () => {} } as unknown as Redis, keysOf('test'), presenter);

test('A tenant is shown one workflow at a time, beside those of other tenants and its own small jobs', async () => {
  const { begun, show, presenter } = heldPresenter();
  const pages = openPages(presenter);
  const first = pages.job(record('one', 'first'));
  const second = pages.job(record('one', 'second'));
  void pages.job(record('two', 'other'));
  void pages.job(record('one', 'picture', {}));
  await Promise.resolve();
  expect([...begun.keys()].sort()).toEqual(['first', 'other', 'picture']);
  show('first');
  await first;
  await vi.waitFor(() => expect(begun.has('second')).toBe(true));
  show('second');
  await second;
});

test('The next page of a tenant waits in proportion to the bytes of the one before, and no other tenant does', async () => {
  const clock = manualClock();
  // What list.lua returns: the last id, whether there are more, the bytes that were read, and no record.
  const redis = { defineCommand: () => {}, lehrList: async () => ['job_1', 0, 2 ** 20, []] };
  const pages = new JobPages(redis as unknown as Redis, keysOf('test'), {} as Presenter, clock);
  const readAt = async (tenant: string) => {
    await pages.page(tenant as TenantId, { limit: 1 }, async () => {});
    return clock.now();
  };
  const read = Promise.all([readAt('one'), readAt('one'), readAt('one'), readAt('two')]);
  expect(await clock.until(read)).toEqual([0, 64, 128, 0]);
});

test('The next workflow of a tenant waits in proportion to the texts of the one before', async () => {
  const clock = manualClock();
  const presenter = { job: async () => ({}) } as unknown as Presenter;
  const redis = { defineCommand: () => {} } as unknown as Redis;
  const pages = new JobPages(redis, keysOf('test'), presenter, clock);
  const input = { nodes: Array.from({ length: 16 }, () => ({ input: { prompt: 'w'.repeat(2 ** 15) } })) };
  const readAt = async (tenant: string) => {
    await pages.job(record(tenant, 'job_1', { workflow: { nodes: [] }, input }));
    return clock.now();
  };
  expect(await clock.until(Promise.all([readAt('one'), readAt('one'), readAt('two')]))).toEqual([0, 32, 0]);
});
