import type { TenantId } from '@lehr/shared';
import { expect, test } from 'vitest';
import { TenantTurns } from './tenant-turns.ts';

const [A, B] = ['a', 'b'] as TenantId[];

/** A task that ends when its function is called. */
function task(): { run: () => Promise<string>; end: () => void; hasBegun: () => boolean } {
  const { promise, resolve } = withResolvers();
  let begun = false;
  return {
    run: () => {
      begun = true;
      return promise;
    },
    end: () => resolve('done'),
    hasBegun: () => begun,
  };
}

function withResolvers(): { promise: Promise<string>; resolve: (value: string) => void } {
  let resolve: (value: string) => void = () => {};
  const promise = new Promise<string>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

test('A tenant reads one body at a time, in the order of arrival, and another tenant does not wait for it', async () => {
  const turns = new TenantTurns();
  const [first, second, other] = [task(), task(), task()];
  const ended = [turns.run(A, first.run), turns.run(A, second.run)];
  const own = turns.run(B, other.run);
  await Promise.resolve();
  expect([first.hasBegun(), second.hasBegun(), other.hasBegun()]).toEqual([true, false, true]);
  other.end();
  expect(await own).toBe('done');
  first.end();
  expect(await ended[0]).toBe('done');
  second.end();
  expect(await ended[1]).toBe('done');
});

test('A body that fails lets the next one of its tenant begin', async () => {
  const turns = new TenantTurns();
  const failing = turns.run(A, () => Promise.reject(new Error('broken off')));
  const next = turns.run(A, async () => 'read');
  await expect(failing).rejects.toThrow('broken off');
  expect(await next).toBe('read');
});

test('More than 16 bodies of one tenant are refused until one has been read', async () => {
  const turns = new TenantTurns();
  const held = task();
  const all = Array.from({ length: 16 }, () => turns.run(A, held.run));
  await expect(turns.run(A, held.run)).rejects.toMatchObject({ code: 'overloaded', retryAfterS: 1 });
  held.end();
  await Promise.all(all);
  expect(await turns.run(A, async () => 'read')).toBe('read');
});
