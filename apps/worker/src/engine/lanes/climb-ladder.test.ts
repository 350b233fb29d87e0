import type { Clock } from '@lehr/shared';
import { expect, test } from 'vitest';
import { climbLadder } from './climb-ladder.ts';
import { RowCap } from './row-cap.ts';

/** A device in virtual time: `msOf` gives the ms of a run from its rows and from the number of such runs before it. */
function device(msOf: (rows: number, before: number) => number) {
  let now = 0;
  const runs = new Map<number, number>();
  const clock: Pick<Clock, 'monotonic'> = { monotonic: () => now };
  return {
    clock: clock as Clock,
    now: () => now,
    runs,
    run: async (rows: number) => {
      const before = runs.get(rows) ?? 0;
      runs.set(rows, before + 1);
      now += msOf(rows, before);
    },
  };
}

/** Its throughput grows with every doubling, from 8 to 16 rows by 6 %. */
const curve = (rows: number): number => 8 + 7 * rows;

test('The warm-up measures a shape without the runs that allocate and set up its memory', async () => {
  const cap = new RowCap({ ceiling: 16 });
  await climbLadder(
    cap,
    device((rows, before) => curve(rows) * ([4, 2][before] ?? 1)),
  );
  expect(cap.measurements).toEqual([1, 2, 4, 8, 16].map((rows) => [rows, curve(rows)]));
});

test('Another program that disturbs every other run does not stop the warm-up', async () => {
  const cap = new RowCap({ ceiling: 16 });
  let run = 0;
  await climbLadder(
    cap,
    device((rows) => curve(rows) * (++run % 2 === 0 ? 2 : 1)),
  );
  expect(cap.measurements).toEqual([1, 2, 4, 8, 16].map((rows) => [rows, curve(rows)]));
});

test('A device that becomes slower during the warm-up has no smaller cap than one that was slow from the start', async () => {
  const cap = new RowCap({ ceiling: 16 });
  const wide = device((rows) => curve(rows) * (wide.runs.has(8) ? 1.5 : 1));
  await climbLadder(cap, wide);
  expect(cap.rows).toBe(16);
});

test('Long runs are measured twice, and no rung is begun after a minute', async () => {
  const slow = device((rows) => 5000 + 2000 * rows);
  const cap = new RowCap();
  await climbLadder(cap, slow);
  expect([...slow.runs]).toEqual([
    [1, 3],
    [2, 3],
    [4, 3],
  ]);
});

test('A ladder with a patience of one ends at the first doubling that does not pay', async () => {
  const cap = new RowCap();
  const full = device((rows) => 9 + 61.9 * rows);
  await climbLadder(cap, { ...full, patience: 1 });
  expect([...full.runs.keys()]).toEqual([1, 2, 4, 8]);
});

test('A rung that fails exceeds the memory, and when it is the first one the warm-up fails', async () => {
  const failing = (from: number) => {
    const { clock, run } = device(curve);
    const runOrFail = async (rows: number) => {
      if (rows >= from) throw new Error('out of memory');
      await run(rows);
    };
    return { clock, run: runOrFail };
  };
  const cap = new RowCap();
  await climbLadder(cap, failing(8));
  expect(cap.ceiling).toBe(4);
  await expect(climbLadder(new RowCap(), failing(1))).rejects.toThrow('out of memory');
  await expect(climbLadder(new RowCap(), { ...failing(4), rungs: [4] })).rejects.toThrow('out of memory');
});
