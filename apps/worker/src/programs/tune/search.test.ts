import fc from 'fast-check';
import { expect, test } from 'vitest';
import { memoryJournal, simulatedTrials } from '../../../../../test/support/simulated-trials.ts';
import { type Candidate, candidateKey, candidatesOf, type Space } from './candidate.ts';
import { type Plan, SEARCH, WHOLE_GRID } from './search.ts';
import { type Tuning, tune } from './tune.ts';

const SPACE: Space = {
  devices: ['cpu'],
  threads: [1, 2],
  optimizations: ['disabled', 'basic', 'extended', 'all'],
  variants: [],
  workers: [1],
  cores: 2,
  rowCaps: [2, 4, 8, 16, 32],
};
const JOB = { rows: 2, steps: 20 };

interface Surface {
  /** Of a step with any number of rows. */
  readonly fixedMs: number;
  /** What a second thread gains. */
  readonly speedup: number;
  /** How much longer a step takes with each level. */
  readonly levels: readonly number[];
  /** Rows that take twice as long as one fewer would let expect. */
  readonly crowded: number;
}

/** A step with more rows takes longer, and from some row count on more than in proportion. */
const stepMs = (surface: Surface, { session, rowCap }: Candidate): number => {
  const rowMs = (session.threads === 2 ? 1 / surface.speedup : 1) * (1 + rowCap / surface.crowded);
  return (
    surface.levels[SPACE.optimizations.indexOf(session.optimization)] * (surface.fixedMs + rowCap * rowMs)
  );
};

const surfaces: fc.Arbitrary<Surface> = fc.record({
  fixedMs: fc.double({ min: 0, max: 20, noNaN: true }),
  speedup: fc.double({ min: 0.7, max: 2, noNaN: true }),
  levels: fc.array(fc.double({ min: 1, max: 2, noNaN: true }), { minLength: 4, maxLength: 4 }),
  crowded: fc.double({ min: 4, max: 1000, noNaN: true }),
});

/** Each is a whole search. */
const RUNS = { numRuns: 40 };

/** A repeatable number between -1 and 1. */
const wobble = (seed: number, i: number): number => Math.sin((seed + 1) * 12.9898 + i * 78.233);

async function search(
  ms: (candidate: Candidate, take: number) => number | string,
  plan = SEARCH,
  room = 100,
  space = SPACE,
) {
  const trials = simulatedTrials({ stepMs: ms, room });
  const tuning = await tune({
    job: JOB,
    goal: 'throughput',
    space,
    plan,
    journal: memoryJournal(),
    trials,
    onProgress: () => {},
  });
  return { tuning, trials };
}

/** How much more time a picture takes with what was chosen than with the best of all. */
const loss = ({ chosen }: Tuning, surface: Surface): number => {
  const msPerPicture = (candidate: Candidate): number =>
    (JOB.steps * stepMs(surface, candidate)) / (candidate.rowCap / JOB.rows) + 1;
  return msPerPicture(chosen.candidate) / Math.min(...candidatesOf(SPACE).map(msPerPicture));
};

test('Where measurements are exact, the choice is within 2 % of the best of any device, for less than a quarter of the rows of the grid', async () => {
  const grid = (await search(() => 1, WHOLE_GRID)).trials.rows();
  await fc.assert(
    fc.asyncProperty(surfaces, fc.integer({ min: 1, max: 8 }), async (surface, room) => {
      const { tuning, trials } = await search((candidate) => stepMs(surface, candidate), SEARCH, room);
      expect(loss(tuning, surface)).toBeLessThanOrEqual(1 / 0.98 + 1e-9);
      expect(trials.rows()).toBeLessThan(grid / 4);
    }),
    RUNS,
  );
});

test('The choice is within 3 % of the best when every measurement differs by up to 1 % and the machine has slow minutes while candidates are compared', async () => {
  await fc.assert(
    fc.asyncProperty(surfaces, fc.nat(1000), async (surface, seed) => {
      const slowFrom = 130;
      const { tuning } = await search((candidate, take) => {
        const isSlow = take > slowFrom && Math.floor(take / 40) % 2 === 0;
        return stepMs(surface, candidate) * (isSlow ? 3 : 1) * (1 + 0.01 * wobble(seed, take));
      });
      expect(loss(tuning, surface)).toBeLessThanOrEqual(1 / 0.97);
    }),
    RUNS,
  );
});

test('What is clearly worse with few rows is not measured with many, unless it has more threads', async () => {
  const surface: Surface = { fixedMs: 4, speedup: 1.5, levels: [1.4, 1.4, 1.02, 1], crowded: 1e6 };
  const { trials } = await search((candidate) => stepMs(surface, candidate));
  const widest = (threads: number, optimization: string): number =>
    Math.max(
      ...trials.taken.flatMap(({ session, rowCap }) =>
        session.threads === threads && session.optimization === optimization ? [rowCap] : [],
      ),
    );
  expect([widest(1, 'all'), widest(2, 'disabled'), widest(2, 'extended'), widest(2, 'all')]).toEqual([
    2, 2, 32, 32,
  ]);
  // With two rows two threads are the slower ones, and with more rows the faster ones.
  const late: Surface = { fixedMs: 0, speedup: 1.6, levels: [1, 1, 1, 1], crowded: 1e6 };
  const { tuning } = await search(
    (candidate) => stepMs(late, candidate) + (candidate.session.threads === 2 ? 3 : 0),
  );
  expect(tuning.chosen.candidate.session.threads).toBe(2);
});

test('Row counts above those at which the throughput falls twice are not measured', async () => {
  const { trials } = await search(({ rowCap }) => (rowCap <= 4 ? 4 + rowCap : rowCap * rowCap));
  expect(Math.max(...trials.taken.map(({ rowCap }) => rowCap))).toBe(16);
});

test('Sessions that fit into the memory beside each other are opened once, and measured in turns', async () => {
  const { trials, tuning } = await search(({ rowCap }) => rowCap);
  expect(trials.opened()).toBe(8);
  const last = trials.taken.slice(-3).map(candidateKey);
  expect(new Set(last).size).toBe(3);
  expect(tuning.chosen.calls).toBeGreaterThanOrEqual(24);
  // With room for one, each is opened for the screening, and again for the comparison.
  const alone = await search(({ rowCap }) => rowCap, SEARCH, 1);
  expect(alone.tuning.chosen).toEqual(tuning.chosen);
});

test('The grid measures 60 steps of every candidate that runs', async () => {
  const failing = ({ session, rowCap }: Candidate) => (session.threads === 1 ? 'no memory' : rowCap);
  const plan: Plan = WHOLE_GRID;
  const { tuning } = await search(failing, plan);
  expect(tuning.all.map(({ calls }) => calls)).toEqual(new Array(20).fill(60));
  expect(tuning.failed).toHaveLength(20);
});

test('Candidates that ran in the screening and fail in the comparison make room for the next best ones', async () => {
  const takes = new Map<string, number>();
  const { tuning } = await search((candidate) => {
    const take = 1 + (takes.get(candidateKey(candidate)) ?? 0);
    takes.set(candidateKey(candidate), take);
    if (candidate.session.threads === 1) return 5;
    return take > SEARCH.screenRounds ? 'killed' : 4;
  });
  expect(tuning.chosen.candidate.session.threads).toBe(1);
  expect(tuning.chosen.calls).toBeGreaterThanOrEqual(24);
});

test('A device that is slower than the CPU with few rows is measured with more of them', async () => {
  const space: Space = { ...SPACE, devices: ['cpu', 'webgpu'], optimizations: ['all'] };
  const { tuning } = await search(
    ({ session, rowCap }) => (session.device === 'cpu' ? 3 * rowCap : 10),
    SEARCH,
    100,
    space,
  );
  expect(tuning.chosen.candidate).toMatchObject({ session: { device: 'webgpu' }, rowCap: 32 });
});
