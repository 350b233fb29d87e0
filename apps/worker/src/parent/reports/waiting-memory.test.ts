import { expect, test } from 'vitest';
import { WaitingMemory } from './waiting-memory.ts';

const jobs = (count: number) => ({ jobs: count, oldestMs: 100 });

test('A model that a partial look did not see keeps the jobs of an earlier look, for ten seconds', () => {
  const memory = new WaitingMemory();
  memory.add(new Map([['a@1', jobs(3)]]), false, 0);
  const second = memory.add(new Map([['b@1', jobs(1)]]), false, 500);
  expect([...second.keys()].sort()).toEqual(['a@1', 'b@1']);
  expect([...memory.add(new Map(), false, 10_200).keys()]).toEqual(['b@1']);
});

test('A look that saw all groups counts alone', () => {
  const memory = new WaitingMemory();
  memory.add(new Map([['a@1', jobs(3)]]), false, 0);
  expect([...memory.add(new Map([['b@1', jobs(1)]]), true, 500).keys()]).toEqual(['b@1']);
});
