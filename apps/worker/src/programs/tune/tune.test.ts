import { join } from 'node:path';
import { expect, test } from 'vitest';
import { memoryJournal, simulatedTrials } from '../../../../../test/support/simulated-trials.ts';
import { tempFolder } from '../../../../../test/support/tiny-models.ts';
import { randomArrivals } from './arrivals.ts';
import type { Candidate, Space } from './candidate.ts';
import { Journal } from './journal.ts';
import { SEARCH } from './search.ts';
import type { TrialAnswer } from './trial.ts';
import { type TuneOptions, tune } from './tune.ts';

const SPACE: Space = {
  devices: ['cpu'],
  threads: [1, 2],
  optimizations: ['disabled', 'all'],
  variants: [],
  workers: [1],
  cores: 2,
  rowCaps: [2, 4, 8],
};

/** A device on which two threads halve a step, `disabled` doubles it, and rows above four gain nothing. */
const stepMs = ({ session, rowCap }: Candidate): number =>
  ((session.threads === 2 ? 5 : 10) * (session.optimization === 'all' ? 1 : 2) * Math.max(rowCap, 4)) / 4;

const options = (over: Partial<TuneOptions> = {}): TuneOptions => ({
  job: { rows: 2, steps: 20 },
  goal: 'throughput',
  space: SPACE,
  plan: SEARCH,
  journal: memoryJournal(),
  trials: simulatedTrials({ stepMs }),
  onProgress: () => {},
  ...over,
});

test('lehr tune chooses the best settings for its goal and says what every other value costs', async () => {
  const { chosen, costs } = await tune(options());
  expect(chosen.candidate).toEqual({
    session: { device: 'cpu', threads: 2, optimization: 'all' },
    rowCap: 4,
  });
  // 24 rounds of 8 rows.
  expect(chosen.calls).toBe(48);
  // Two pictures in 20 steps of 5 ms, and 1 ms for each picture.
  expect(chosen.figures.jobsPerS).toBeCloseTo(2000 / 102);
  const costOf = (setting: string, value: string) =>
    costs.find((each) => each.setting === setting && each.value === value)?.cost;
  expect(costOf('threads', '2')).toBe(1);
  expect(costOf('optimization', 'disabled')).toBeGreaterThan(1.9);
  expect(costs.map(({ setting }) => setting)).not.toContain('device');
  expect((await tune(options({ goal: 'memory' }))).chosen.candidate.rowCap).toBe(2);
});

test('Fewer rows are chosen when more of them gain less than 2 %', async () => {
  const gain = (share: number) => (candidate: Candidate) =>
    candidate.rowCap === 8 ? 2 * stepMs({ ...candidate, rowCap: 4 }) * (1 - share) : stepMs(candidate);
  const rows = async (share: number) =>
    (await tune(options({ trials: simulatedTrials({ stepMs: gain(share) }) }))).chosen.candidate.rowCap;
  expect([await rows(0.015), await rows(0.025)]).toEqual([4, 8]);
});

test('Workers share a device where together they do more, and as few as do almost as much', async () => {
  // Threads of one worker gain little on this model, and three workers have two cores.
  const shared = ({ session, rowCap }: Candidate): number =>
    rowCap * ((session.threads === 2 ? 9 : 10) / (session.optimization === 'all' ? 1 : 0.5));
  const space: Space = { ...SPACE, workers: [1, 2, 3] };
  const tuned = await tune(options({ space, trials: simulatedTrials({ stepMs: shared }) }));
  expect(tuned.chosen.candidate.session).toEqual({
    device: 'cpu',
    threads: 1,
    optimization: 'all',
    workers: 2,
  });
  const tried = tuned.all.map(
    ({ candidate: { session } }) => (session.threads ?? 1) * (session.workers ?? 1),
  );
  expect(Math.max(...tried)).toBe(2);
  const cost = tuned.costs.find(({ setting, value }) => setting === 'workers' && value === '1')?.cost;
  expect(cost).toBeGreaterThan(1.5);
  // Beside another one, each is half as fast.
  const full = (candidate: Candidate): number => shared(candidate) * (candidate.session.workers ?? 1);
  const alone = await tune(options({ space, trials: simulatedTrials({ stepMs: full }) }));
  expect(alone.chosen.candidate.session).not.toHaveProperty('workers');
});

test('With arrivals, the choice is for that load: short steps when few jobs come, and many rows when many do', async () => {
  // Two threads halve the fixed part of a step, and double what each row adds.
  const ms = ({ session, rowCap }: Candidate): number =>
    session.threads === 2 ? 5 + 4 * rowCap : 10 + 2 * rowCap;
  const at = async (perS: number) => {
    const job = { rows: 2, steps: 20, arrivals: randomArrivals(perS) };
    const { chosen } = await tune(options({ goal: 'latency', job, trials: simulatedTrials({ stepMs: ms }) }));
    return { threads: chosen.candidate.session.threads, ms: chosen.figures.jobMs };
  };
  // 20 steps of 13 ms, and of 26 ms with 8 rows, which are 7.7 jobs per second.
  const [few, many] = [await at(0.1), await at(7)];
  expect([few.threads, many.threads]).toEqual([2, 1]);
  expect(few.ms).toBeLessThan(400);
  expect(many.ms).toBeGreaterThan(few.ms);
});

test('A second worker is chosen for a load that one cannot carry, though the steps of both are longer then', async () => {
  // One ends 5 jobs per second, two end 7.7.
  const ms = ({ session, rowCap }: Candidate): number => 5 * rowCap * (session.workers === 2 ? 1.3 : 1);
  const space: Space = { ...SPACE, threads: [1], optimizations: ['all'], workers: [1, 2] };
  const at = async (perS: number) => {
    const job = { rows: 2, steps: 20, arrivals: randomArrivals(perS) };
    const trials = simulatedTrials({ stepMs: ms });
    return (await tune(options({ goal: 'latency', job, space, trials }))).chosen.candidate.session.workers;
  };
  expect([await at(0.2), await at(6)]).toEqual([undefined, 2]);
});

test('A cost is that of the rounds that a candidate was measured in, also when the machine became slower after them', async () => {
  // The screening takes 24 rounds of a candidate at most.
  const slower = simulatedTrials({ stepMs: (candidate, take) => stepMs(candidate) * (take < 24 ? 1 : 3) });
  const { costs, chosen } = await tune(options({ trials: slower }));
  expect(chosen.candidate.session).toMatchObject({ threads: 2, optimization: 'all' });
  const disabled = costs.find(({ value }) => value === 'disabled');
  expect(disabled?.cost).toBeGreaterThan(1.8);
});

test('A search that was interrupted measures no round twice', async () => {
  const path = join(await tempFolder('tune'), 'journal');
  const journal = () => Journal.open<TrialAnswer>(path, 'a');
  const whole = simulatedTrials({ stepMs });
  const expected = await tune(options({ trials: whole }));
  const interrupted = simulatedTrials({
    stepMs: (candidate, take) => {
      if (take === 10) throw new Error('killed');
      return stepMs(candidate);
    },
  });
  await expect(tune(options({ journal: await journal(), trials: interrupted }))).rejects.toThrow('killed');
  const rest = simulatedTrials({ stepMs });
  expect(await tune(options({ journal: await journal(), trials: rest }))).toEqual(expected);
  // Of the ten, the last two were of a round of four sessions that was not complete.
  expect(rest.taken).toHaveLength(whole.taken.length - 8);
});

test('Settings with which the model does not run are left out, with the reason', async () => {
  const failing = (candidate: Candidate) =>
    candidate.session.threads === 2 ? 'no memory' : stepMs(candidate);
  const { chosen, failed } = await tune(options({ trials: simulatedTrials({ stepMs: failing }) }));
  expect(chosen.candidate.session.threads).toBe(1);
  // More rows are not tried where two do not run.
  expect(failed.map(({ candidate }) => candidate.rowCap)).toEqual([2, 2]);
  expect(failed[0].reason).toBe('no memory');
  const none = simulatedTrials({ stepMs: () => 'no memory' });
  await expect(tune(options({ trials: none }))).rejects.toThrow('none of the settings: no memory');
});

test('The progress begins at zero, never falls, and never exceeds the whole', async () => {
  const shown: [done: number, total: number][] = [];
  await tune(options({ onProgress: (done, total) => void shown.push([done, total]) }));
  const done = shown.map(([each]) => each);
  expect(done).toEqual([...done].sort((a, b) => a - b));
  expect(done[0]).toBe(0);
  for (const [each, total] of shown) expect(each).toBeLessThanOrEqual(total);
});
