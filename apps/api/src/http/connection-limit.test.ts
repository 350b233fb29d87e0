import { expect, test } from 'vitest';
import { connectionLimit } from './connection-limit.ts';

test.each([
  [10_000, 1_048_576, 10_000],
  [10_000, 10_240, 9240],
  [10_000, 1024, 512],
  [50, 1024, 50],
  [10_000, 1, 1],
])('Of %d wanted connections, a process that may open %d files takes %d', (wanted, descriptors, taken) => {
  expect(connectionLimit(wanted, descriptors)).toBe(taken);
});

test('Where the system does not tell the limit of files, all wanted connections are taken', () => {
  expect(connectionLimit(10_000, Number.POSITIVE_INFINITY)).toBe(10_000);
});
