import { expect, test } from 'vitest';
import { type Cut, chooseCuts } from './choose-cuts.ts';

const cutsAfter = (sizes: Readonly<Record<number, number>>): Cut[] =>
  Object.entries(sizes).map(([after, size]) => ({ value: `v${after}`, after: Number(after), size }));
const places = (costs: readonly number[], cuts: readonly Cut[], share: number): number[] =>
  chooseCuts(costs, cuts, share).map(({ after }) => after);

test('There are as few pieces as the share allows', () => {
  const cuts = cutsAfter({ 0: 1, 1: 1, 2: 1, 3: 1, 4: 1 });
  expect(places([1, 1, 1, 1, 1, 1], cuts, 1)).toEqual([]);
  expect(places([1, 1, 1, 1, 1, 1], cuts, 0.5)).toEqual([2]);
  expect(places([1, 1, 1, 1, 1, 1], cuts, 0.34)).toEqual([1, 3]);
});

test('Among as few pieces, those are chosen that hand over the least', () => {
  expect(places([1, 1, 1, 1], cutsAfter({ 0: 5, 1: 9, 2: 2 }), 0.75)).toEqual([2]);
});

test('Where no cut is close enough, a piece is as long as it must be', () => {
  expect(places([1, 8, 1, 1], cutsAfter({ 0: 1, 1: 1, 2: 1 }), 0.2)).toEqual([0, 1]);
});

test('Without a place to cut there is one piece', () => {
  expect(places([1, 1], [], 0.1)).toEqual([]);
});
