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
