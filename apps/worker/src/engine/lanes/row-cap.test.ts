import type { Clock } from '@lehr/shared';
import { describe, expect, test } from 'vitest';
import { climbLadder, knee, RowCap, worthWidening } from './row-cap.ts';

/** A device that takes `fixed + perRow * rows` ms for a step. */
const curve = (fixed: number, perRow: number): [number, number][] =>
  [1, 2, 4, 8, 16, 32].map((rows) => [rows, fixed + perRow * rows]);

test('A device that is fully used by a few rows gets no more', () => {
  const measured: [number, number][] = [];
  for (const rung of curve(9, 61.9)) if (worthWidening(measured)) measured.push(rung);
  expect(measured.map(([rows]) => rows)).toEqual([1, 2, 4, 8, 16]);
  expect(knee(measured)).toBe(4);
});

test('A device whose throughput grows with every row gets the most rows', () => {
  expect(knee(curve(46, 1))).toBe(32);
});

test('The cap is the knee of the measured curve', () => {
  expect(
    knee([
      [1, 58.6],
      [2, 107],
      [4, 206],
      [8, 405],
      [16, 845],
    ]),
  ).toBe(4);
});

test('The cap is the ceiling until something is measured, and never exceeds it', () => {
  expect(new RowCap({ ceiling: 8 }).rows).toBe(8);
  const cap = new RowCap({ ceiling: 8 });
  for (const [rows, ms] of curve(46, 1)) cap.measure(rows, ms);
  expect(cap.rows).toBe(8);
});

test('The cap follows a device that becomes slower while it serves', () => {
  const cap = new RowCap();
  for (const [rows, ms] of curve(40, 1)) cap.measure(rows, ms);
  expect(cap.rows).toBe(32);
  // Another process takes a core: every row now costs ten times as much.
  for (let i = 0; i < 60; i++) for (const [rows, ms] of curve(1, 10)) cap.observe(rows, ms);
  expect(cap.rows).toBeLessThan(8);
});

test('The cap of a new shape starts at that of another shape, not at its first small batch', () => {
  const cap = new RowCap();
  for (const [rows, ms] of curve(9, 61.9).slice(0, 4)) cap.measure(rows, ms);
  const other = cap.forAnotherShape();
  expect(other.rows).toBe(4);
  for (let step = 0; step < 3; step++) other.observe(1, 10);
  expect(other.rows).toBe(4);
  for (let step = 0; step < 3; step++) other.observe(4, 12);
  expect(other.rows).toBe(8);
});

test('The first steps of a new row count, which allocate and tune, do not keep the cap from growing', () => {
  const cap = new RowCap({ guess: 1 });
  const steps = new Map<number, number>();
  for (let step = 0; step < 100; step++) {
    const { rows } = cap;
    const before = steps.get(rows) ?? 0;
    steps.set(rows, before + 1);
    cap.observe(rows, (40 + rows) * ([50, 1.2][before] ?? 1));
  }
  expect(cap.rows).toBe(32);
});

test('Row counts above the cap are tried again after a while', () => {
  const cap = new RowCap();
  for (const [rows, ms] of curve(1, 10)) cap.measure(rows, ms);
  const narrow = cap.rows;
  // The device is fast again, but only the narrow batches it is given show it.
  for (let step = 0; step < 2000; step++) cap.observe(Math.min(cap.rows, 32), 40 + cap.rows);
  expect(cap.rows).toBeGreaterThan(narrow);
});

test("A fixed cap is the operator's value, or less if that does not fit into memory", () => {
  const cap = new RowCap({ ceiling: 16, fixed: true });
  for (const [rows, ms] of curve(1, 10)) cap.measure(rows, ms);
  expect(cap.rows).toBe(16);
  cap.limit(6);
  expect(cap.rows).toBe(6);
});

test('Warm-up measures the next rung until two doublings in a row do not increase the throughput', () => {
  const measured: [number, number][] = [
    [1, 10],
    [2, 20],
    [4, 39.9],
  ];
  for (const rungs of [0, 1, 2]) expect(worthWidening(measured.slice(0, rungs))).toBe(true);
  expect(worthWidening(measured)).toBe(false);
});

test('One disturbed measurement does not end the warm-up', () => {
  const measured: [number, number][] = [
    [1, 10],
    [2, 20],
    [4, 28],
  ];
  expect(worthWidening(measured)).toBe(true);
  expect(worthWidening([...measured, [8, 56]])).toBe(true);
});

/** Rows per ms of a lane that always has enough samples, over `steps` steps. */
function throughput(device: (rows: number) => number, cap: RowCap, steps: number): number {
  let [rows, ms] = [0, 0];
  for (let step = 0; step < steps; step++) {
    const each = cap.rows;
    const took = device(each);
    cap.observe(each, took);
    rows += each;
    ms += took;
  }
  return rows / ms;
}

test.each([
  ['whose neighbour takes a core', (rows: number) => 8.2 + 10.3 * rows, (rows: number) => 2 + 13 * rows],
  [
    'that is throttled to half its speed',
    (rows: number) => 3.4 + 1.32 * rows,
    (rows: number) => 6.8 + 2.64 * rows,
  ],
  ['that stops to gain from a batch', (rows: number) => 46 + rows, (rows: number) => 1 + 10 * rows],
])(
  'On a device %s the cap keeps 0.96 of the best throughput, during the change and after it',
  (_, before, during) => {
    const best = (device: (rows: number) => number): number =>
      Math.max(...[1, 2, 4, 8, 16, 32].map((rows) => rows / device(rows)));
    const cap = new RowCap();
    for (const rows of [1, 2, 4, 8, 16, 32]) cap.measure(rows, before(rows));
    for (const device of [before, during, before]) {
      // Until row counts above the cap are tried again.
      throughput(device, cap, 1500);
      expect(throughput(device, cap, 2000) / best(device)).toBeGreaterThanOrEqual(0.96);
    }
  },
);

describe('climb ladder', () => {
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
});
