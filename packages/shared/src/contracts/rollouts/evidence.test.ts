import { describe, expect, test } from 'vitest';
import { logGamma, type Samples, totalEvidence, weighJobs } from './evidence.ts';

const NO_PAIRS = { slower: 0, faster: 0 };
const samples = (
  canary: readonly [failed: number, jobs: number],
  stable: readonly [number, number],
): Samples => ({
  canary: { failed: canary[0], jobs: canary[1] },
  stable: { failed: stable[0], jobs: stable[1] },
  pairs: NO_PAIRS,
});

/** All sequences of outcomes of this many jobs, with their probability; `true` is bad. */
function* sequences(rate: number, jobs: number): Generator<{ bad: number; probability: number }> {
  for (let bits = 0; bits < 2 ** jobs; bits += 1) {
    const bad = [...bits.toString(2)].filter((bit) => bit === '1').length;
    yield { bad, probability: rate ** bad * (1 - rate) ** (jobs - bad) };
  }
}

describe('The expected evidence is at most 1 while the canary is not worse, exactly computed over all outcomes', () => {
  test.each([0.01, 0.1, 0.3, 0.5, 0.9])('for failures at a rate of %d in both versions', (rate) => {
    let expected = 0;
    for (const canary of sequences(rate, 5)) {
      for (const stable of sequences(rate, 7)) {
        const { failures } = weighJobs(samples([canary.bad, 5], [stable.bad, 7]));
        expected += canary.probability * stable.probability * Math.exp(failures);
      }
    }
    expect(expected).toBeLessThanOrEqual(1);
  });

  test.each([0, 0.2, 0.4, 0.5])('for slowness, when a share of %d of the pairs is slower', (rate) => {
    let expected = 0;
    for (const { bad, probability } of sequences(rate, 12)) {
      const pairs = { slower: bad, faster: 12 - bad };
      expected += probability * Math.exp(weighJobs({ ...samples([0, 0], [0, 0]), pairs }).slowness);
    }
    expect(expected).toBeLessThanOrEqual(1);
  });
});

test('Without a job there is no evidence, and a better canary has less than 1', () => {
  expect(weighJobs(samples([0, 0], [0, 0]))).toEqual({ failures: 0, slowness: 0 });
  expect(weighJobs(samples([0, 100], [50, 100])).failures).toBeLessThan(0);
});

test('Every further failure of the canary adds evidence, and every further one of the stable version takes some away', () => {
  const of = (failed: number, stable: number): number =>
    weighJobs(samples([failed, 100], [stable, 900])).failures;
  for (let failed = 5; failed < 30; failed += 1) {
    expect(of(failed + 1, 9)).toBeGreaterThan(of(failed, 9));
    expect(of(30, failed + 1)).toBeLessThan(of(30, failed));
  }
});

test('A stage with strong evidence is added to that of earlier stages, and one without takes half of it away at most', () => {
  const strong = samples([20, 50], [5, 500]);
  const carried = { failures: 2, slowness: 0 };
  const stage = weighJobs(strong).failures;
  expect(totalEvidence(strong, carried).failures).toBeCloseTo(2 + stage - Math.log(2), 6);
  const good = samples([0, 1000], [500, 1000]);
  expect(totalEvidence(good, carried).failures).toBeCloseTo(2 - Math.log(2), 6);
});

test('The gamma function agrees with factorials and with its value at one half, and large counts stay finite', () => {
  let factorial = 1;
  for (let n = 1; n <= 100; n += 1) {
    expect(Math.abs(logGamma(n) - Math.log(factorial))).toBeLessThan(1e-10);
    factorial *= n;
  }
  expect(logGamma(0.5)).toBeCloseTo(Math.log(Math.sqrt(Math.PI)), 12);
  expect(Number.isFinite(weighJobs(samples([5e8, 1e9], [1e6, 1e9])).failures)).toBe(true);
});
