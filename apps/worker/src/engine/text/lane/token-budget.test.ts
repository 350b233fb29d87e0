import { expect, test } from 'vitest';
import { claimTokens, TokenBudget } from './token-budget.ts';

const measured = (rungs: readonly (readonly [tokens: number, ms: number])[]): TokenBudget => {
  const budget = new TokenBudget(8192);
  for (const [tokens, ms] of rungs) budget.measure(tokens, ms);
  return budget;
};

test('The budget is the fewest tokens that use the device fully', () => {
  const gpu = measured([
    [16, 3],
    [64, 3],
    [256, 3.1],
    [1024, 6],
    [2048, 11.8],
    [4096, 23.5],
  ]);
  expect(gpu.tokens).toBe(1024);
  expect(gpu.freeTokens).toBe(256);
});

test('On a processor where each token costs the same, runs are small and no padding is free', () => {
  const cpu = measured([
    [16, 1.6],
    [32, 3.1],
    [64, 6.1],
  ]);
  expect(cpu.tokens).toBe(64);
  expect(cpu.freeTokens).toBe(16);
});

test('A run that would hold the device for long is not made, even where it has the best throughput', () => {
  const slow = measured([
    [16, 40],
    [32, 60],
    [64, 90],
    [128, 150],
  ]);
  expect(slow.tokens).toBe(42);
});

test('A long text that is observed while serving does not widen the budget', () => {
  const budget = measured([
    [16, 4],
    [32, 8],
  ]);
  budget.observe(512, 20);
  expect(budget.tokens).toBe(64);
});

test('Memory that did not suffice lowers the budget for good', () => {
  const budget = measured([
    [512, 5],
    [1024, 6],
  ]);
  budget.limit(300);
  expect(budget.tokens).toBe(300);
});

test('A run for which memory was short once lowers the budget until many runs have gone well', () => {
  const budget = measured([
    [512, 5],
    [1024, 6],
  ]);
  budget.lower(512);
  expect(budget.tokens).toBe(512);
  for (let run = 0; run < 500; run += 1) budget.observe(512, 5);
  expect(budget.tokens).toBe(1024);
  budget.limit(300);
  for (let run = 0; run < 2000; run += 1) budget.observe(256, 3);
  expect(budget.tokens).toBe(300);
});

test('A worker holds several runs of texts, and at least two thousand tokens', () => {
  expect(claimTokens(measured([[16, 1.6]]))).toBe(2048);
  expect(claimTokens(measured([[1024, 3]]))).toBe(8192);
});
