import type { PriorityClass } from '@lehr/shared';
import { expect, onTestFinished, test } from 'vitest';
import { MemorySupply, Slots, type Supply } from './slots.ts';

/** Tasks in the order in which they got their slot; `end` ends a running one. */
function schedule(count: number, supply?: Supply) {
  const slots = new Slots(count, supply);
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (
    name: string,
    owner: string,
    signal = new AbortController().signal,
    priority: PriorityClass = 'interactive',
  ): Promise<void> =>
    slots.run(
      () =>
        new Promise<void>((resolve) => {
          started.push(name);
          ends.set(name, resolve);
        }),
      signal,
      { owner, size: 1, priority },
    );
  const settle = () => new Promise(setImmediate);
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await settle();
  };
  return { slots, run, end, settle, started };
}

test('An owner with one task waits for one running task of another owner with fifty', async () => {
  const { run, end, settle, started } = schedule(2);
  for (let i = 0; i < 50; i++) void run(`a${i}`, 'a');
  void run('b', 'b');
  await settle();
  expect(started).toEqual(['a0', 'a1']);
  await end('a1');
  expect(started).toEqual(['a0', 'a1', 'b']);
});

test('Owners take turns, and the tasks of one owner run in the order in which they came', async () => {
  const { run, end, settle, started } = schedule(1);
  for (const name of ['a0', 'a1', 'a2']) void run(name, 'a');
  for (const name of ['b0', 'b1']) void run(name, 'b');
  void run('c0', 'c');
  await settle();
  for (let i = 0; i < 6; i++) await end(started[i]);
  expect(started).toEqual(['a0', 'b0', 'a1', 'c0', 'b1', 'a2']);
});

test('A task whose signal aborts while it waits is not run, and the next one is', async () => {
  const { slots, run, end, started } = schedule(1);
  void run('a0', 'a');
  const cancel = new AbortController();
  const waiting = run('b0', 'b', cancel.signal);
  void run('c0', 'c');
  expect(slots.isFull()).toBe(true);
  cancel.abort(new Error('cancelled'));
  await expect(waiting).rejects.toThrow('cancelled');
  await end('a0');
  expect(started).toEqual(['a0', 'c0']);
  expect(slots.isFull()).toBe(false);
});

test('Many tasks wait for one signal with one listener, and all of them reject when it aborts', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): unknown => warnings.push(warning);
  process.on('warning', note);
  onTestFinished(() => {
    process.off('warning', note);
  });
  const { run, settle, end, started } = schedule(1);
  void run('first', 'a');
  const closing = new AbortController();
  const ends = Promise.allSettled(Array.from({ length: 20 }, (_, i) => run(`b${i}`, 'b', closing.signal)));
  await settle();
  expect(warnings).toEqual([]);
  await end('first');
  expect(started).toEqual(['first', 'b0']);
  closing.abort(new Error('closing'));
  await end('b0');
  expect((await ends).map(({ status }) => status)).toEqual([
    'fulfilled',
    ...new Array<string>(19).fill('rejected'),
  ]);
});

test('A task waits while the supply does not suffice, and tasks of other owners do not', async () => {
  let isOpen = false;
  const { slots, run, settle, started } = schedule(2, {
    fits: ({ owner }) => owner !== 'a' || isOpen,
    take: () => {},
  });
  void run('a0', 'a');
  void run('b0', 'b');
  await settle();
  expect(started).toEqual(['b0']);
  expect(slots.isFull()).toBe(false);
  isOpen = true;
  slots.look();
  await settle();
  expect(started).toEqual(['b0', 'a0']);
});

test('A slot is free again after a task that fails', async () => {
  const { signal } = new AbortController();
  const slots = new Slots(1);
  await expect(slots.run(() => Promise.reject(new Error('failed')), signal)).rejects.toThrow('failed');
  expect(await slots.run(async () => 'done', signal)).toBe('done');
});

test('Bulk tasks leave a slot free, and a slot goes to the most urgent class whoever waited longer', async () => {
  const { slots, run, end, settle, started } = schedule(2);
  const { signal } = new AbortController();
  for (const name of ['b0', 'b1']) void run(name, name, signal, 'bulk');
  expect([slots.isFull('bulk'), slots.isFull('standard')]).toEqual([true, false]);
  for (const name of ['s0', 's1']) void run(name, name, signal, 'standard');
  void run('i0', 'i0', signal, 'interactive');
  await settle();
  expect(started).toEqual(['b0', 's0']);
  await end('s0');
  await end('i0');
  await end('s1');
  expect(started).toEqual(['b0', 's0', 'i0', 's1']);
  await end('b0');
  expect(started.at(-1)).toBe('b1');
});

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
