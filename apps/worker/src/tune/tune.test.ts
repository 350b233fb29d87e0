import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../../../../test/support/tiny-models.ts';
import type { Space } from './candidate.ts';
import { Journal } from './journal.ts';
import type { Outcome } from './measure-candidates.ts';
import { RUNGS } from './search.ts';
import type { TrialRequest } from './trial.ts';
import { type TuneOptions, tune } from './tune.ts';

const SPACE: Space = {
  devices: ['cpu'],
  threads: [1, 2],
  optimizations: ['disabled', 'all'],
  variants: [],
  rowCaps: [2, 4, 8],
};

/** A device on which two threads halve a step, `disabled` doubles it, and rows above four gain nothing. */
const stepMs = ({ session }: TrialRequest, rows: number): number =>
  ((session.threads === 2 ? 5 : 10) * (session.optimization === 'all' ? 1 : 2) * Math.max(rows, 4)) / 4;

function answer(request: TrialRequest) {
  const points = request.rowCaps.map((rowCap) => {
    const ms = stepMs(request, rowCap);
    return { rowCap, step: { medianMs: ms, p95Ms: ms }, residentBytes: 1e6 * rowCap };
  });
  return Promise.resolve({ result: { openMs: 1, perJobMs: 1, points } });
}

async function options(over: Partial<TuneOptions> = {}): Promise<TuneOptions> {
  const path = join(await tempFolder('tune'), 'journal');
  return {
    model: { task: 'diffusion', folder: '/model', width: 64, height: 64 },
    job: { rows: 2, steps: 20 },
    goal: 'throughput',
    space: SPACE,
    rungs: RUNGS,
    journal: await Journal.open<Outcome>(path, 'a'),
    runTrial: answer,
    onProgress: () => {},
    ...over,
  };
}

test('lehr tune chooses the best settings for its goal and says what every other value costs', async () => {
  const { chosen, costs } = await tune(await options());
  expect(chosen.candidate).toEqual({
    session: { device: 'cpu', threads: 2, optimization: 'all' },
    rowCap: 4,
  });
  expect(chosen.calls).toBe(60);
  // Two pictures in 20 steps of 5 ms, and 1 ms for each picture.
  expect(chosen.figures.jobsPerS).toBeCloseTo(2000 / 102);
  const costOf = (setting: string, value: string) =>
    costs.find((each) => each.setting === setting && each.value === value)?.cost;
  expect(costOf('threads', '2')).toBe(1);
  expect(costOf('threads', '1')).toBeCloseTo(202 / 102);
  expect(costOf('optimization', 'disabled')).toBeCloseTo(202 / 102);
  expect(costs.map(({ setting }) => setting)).not.toContain('device');
  expect((await tune(await options({ goal: 'memory' }))).chosen.candidate.rowCap).toBe(2);
});

test('A search that was interrupted measures nothing twice', async () => {
  const path = join(await tempFolder('tune'), 'journal');
  const journal = () => Journal.open<Outcome>(path, 'a');
  let trials = 0;
  const dying = (request: TrialRequest) => {
    trials += 1;
    if (trials === 4) throw new Error('killed');
    return answer(request);
  };
  await expect(tune(await options({ journal: await journal(), runTrial: dying }))).rejects.toThrow('killed');
  const whole = await tune(await options());
  const continued = await tune(
    await options({
      journal: await journal(),
      runTrial: (request) => {
        trials += 1;
        return answer(request);
      },
    }),
  );
  expect(continued).toEqual(whole);
  // Four sessions of the first rung, of which the fourth is measured again; the best three candidates of two sessions in each later rung.
  expect(trials).toBe(4 + 1 + 2 + 2);
});

test('Settings with which the model does not run are left out, with the reason', async () => {
  const runTrial = (request: TrialRequest) =>
    request.session.threads === 2 ? Promise.resolve({ failure: 'no memory' }) : answer(request);
  const { chosen, failed } = await tune(await options({ runTrial }));
  expect(chosen.candidate.session.threads).toBe(1);
  expect(failed).toHaveLength(6);
  expect(failed[0].reason).toBe('no memory');
  const none = { runTrial: () => Promise.resolve({ failure: 'no memory' }) };
  await expect(tune(await options(none))).rejects.toThrow('none of the settings: no memory');
});
