/** Load curves replayed against the function that ships and against KEDA's rule; the page of the comparison has more of them. */
import { expect, test } from 'vitest';
import { compare, JOBS_PER_WORKER } from './scaling/compare.ts';
import { curves } from './scaling/curves.ts';
import { Hpa } from './scaling/hpa.ts';
import { cheapest, fastest } from './scaling/page.ts';
import { plot } from './scaling/plot.ts';

const SHORT = curves().filter(({ name }) => name !== 'day');

test('Lehr needs at most 0.7 of the worker seconds of KEDA for the same p95, or has at most half of its p95 at the same cost', () => {
  const results = compare(SHORT, { targets: [15], jobs: JOBS_PER_WORKER, jobs60: [], workers: [] });
  expect(results).toHaveLength(6);
  for (const { curve, startS, rows } of results) {
    const lehr = rows[0];
    const [same, cheap] = [fastest(rows, 'keda', lehr), cheapest(rows, 'keda', lehr)];
    const isCheaper = lehr.cost <= 0.7 * (cheap?.cost ?? Number.POSITIVE_INFINITY);
    const isFaster = lehr.p95S <= 0.5 * (same?.p95S ?? Number.POSITIVE_INFINITY);
    expect(isCheaper || isFaster, `${curve.name}, starts of ${startS} s`).toBe(true);
  }
  expect(plot(results)).toContain('prefers-color-scheme: dark');
});

test('The simulated HPA grows at most by its limits, ignores small changes, and shrinks after its window', () => {
  const hpa = new Hpa({ shrinkWindowS: 60, zeroAfterS: 60, max: 40 });
  expect(hpa.apply(0, 20)).toBe(1);
  expect(hpa.apply(5, 20)).toBe(5);
  expect(hpa.apply(10, 20)).toBe(5);
  expect(hpa.apply(20, 20)).toBe(10);
  expect(hpa.apply(35, 20)).toBe(20);
  expect(hpa.apply(50, 19)).toBe(20);
  expect(hpa.apply(65, 3)).toBe(20);
  expect(hpa.apply(95, 3)).toBe(20);
  expect(hpa.apply(111, 3)).toBe(3);
  expect(hpa.apply(130, 0)).toBe(3);
  expect(hpa.apply(190, 0)).toBe(0);
});
