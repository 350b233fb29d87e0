import { expect, test } from 'vitest';
import { etaMs } from './eta.ts';

const line = { position: 1, costMs: 300, meanCostMs: 100, workers: 1, running: 0 };

test('nobody knows when while no worker serves the group', () => {
  expect(etaMs({ ...line, workers: 0 })).toBeNull();
});

test('the first in line takes its own time, the others that of all before them too', () => {
  expect(etaMs(line)).toBe(300);
  expect(etaMs({ ...line, position: 5 })).toBe(700);
});

test('what runs already has half of its work left on average', () => {
  expect(etaMs({ ...line, running: 4 })).toBe(500);
});

test('workers share the line, but not a single job', () => {
  expect(etaMs({ ...line, position: 5, workers: 4 })).toBe(400);
});
