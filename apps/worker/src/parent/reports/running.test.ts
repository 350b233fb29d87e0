import { expect, test } from 'vitest';
import type { WorkEvent } from '../supervisor/engine-supervisor.ts';
import { LaneCalls } from './running.ts';

const CALL = { type: 'stepped', lane: 'diffusion.tiny@1.64x64', rows: 8 } as unknown as WorkEvent;

function counted() {
  let now = 0;
  const calls = new LaneCalls({ monotonic: () => now });
  return { calls, at: (ms: number) => (now = ms) };
}

test('The calls of the time since the last report are counted', () => {
  const { calls, at } = counted();
  for (let i = 0; i < 5; i += 1) calls.count(CALL);
  at(1_000);
  expect(calls.take()).toEqual([{ queue: 'diffusion.tiny@1.64x64', rows_per_call: 8, calls_per_s: 5 }]);
  expect(calls.take()).toEqual([]);
});

test('A call of an hour ago is in no report', () => {
  const { calls, at } = counted();
  calls.count(CALL);
  at(3_600_000);
  expect(calls.take()).toEqual([]);
});
