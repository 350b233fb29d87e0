import { expect, test } from 'vitest';
import { MemorySupply } from './memory-supply.ts';

test('An owner that holds half of the memory gets no more, and another one does', () => {
  const memory = new MemorySupply(100);
  memory.take({ owner: 'a', size: 40 });
  expect(memory.fits({ owner: 'a', size: 20 })).toBe(true);
  memory.take({ owner: 'a', size: 20 });
  expect(memory.fits({ owner: 'a', size: 1 })).toBe(false);
  expect(memory.fits({ owner: 'b', size: 40 })).toBe(true);
  expect(memory.fits({ owner: 'b', size: 41 })).toBe(false);
  memory.give({ owner: 'a', size: 50 });
  expect(memory.fits({ owner: 'a', size: 40 })).toBe(true);
  expect(memory.usedBytes).toBe(10);
});

test('A waveform that is larger than the limit fits when there is no other', () => {
  const memory = new MemorySupply(100);
  expect(memory.fits({ owner: 'a', size: 300 })).toBe(true);
  memory.take({ owner: 'b', size: 1 });
  expect(memory.fits({ owner: 'a', size: 300 })).toBe(false);
  memory.give({ owner: 'b', size: 1 });
  expect(memory.fits({ owner: 'a', size: 300 })).toBe(true);
});

test('Less urgent classes leave a part of the memory free for the more urgent ones', () => {
  const memory = new MemorySupply(100);
  memory.take({ owner: 'a', size: 20, priority: 'bulk' });
  expect(memory.fits({ owner: 'b', size: 31, priority: 'bulk' })).toBe(false);
  memory.take({ owner: 'b', size: 30, priority: 'bulk' });
  expect(memory.fits({ owner: 'b', size: 26, priority: 'standard' })).toBe(false);
  expect(memory.fits({ owner: 'c', size: 25, priority: 'standard' })).toBe(true);
  memory.take({ owner: 'c', size: 25, priority: 'standard' });
  expect(memory.fits({ owner: 'd', size: 25, priority: 'interactive' })).toBe(true);
});
