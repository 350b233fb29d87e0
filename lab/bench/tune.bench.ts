/**
 * `lehr tune` beside `lehr tune --grid`, which measures every combination fully, with the demo model on the CPU of this machine: how long the
 * search takes, and how good its choice is. The two choices are measured again in turns, because a figure of the search and one of the
 * grid are of different minutes.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Candidate } from '../../apps/worker/src/programs/tune/candidate.ts';
import { durationsOf, figuresOf } from '../../apps/worker/src/programs/tune/goal.ts';
import { TrialProcess } from '../../apps/worker/src/programs/tune/trial-pool.ts';
import { demoModelsFile } from '../../packages/demo-models/src/index.ts';
import type { Figure, RatioFigure, Side } from './harness.ts';

const LEHR = fileURLToPath(new URL('../../apps/cli/bin/lehr.mjs', import.meta.url));
const TRIAL = new URL('../../apps/worker/dist/programs/tune/trial-main.js', import.meta.url);
const FOLDER = join(dirname(demoModelsFile()), 'demo-diffusion');
const SIDE = 128;
const STEPS = 20;
/** Two, because of the guidance. */
const ROWS_PER_PICTURE = 2;
/** Rows that each side computes in a round, in as many steps as its row cap needs. */
const ROWS = 64;

/** The part of a report that is used here. */
interface Report {
  readonly seconds: number;
  readonly chosen: { readonly candidate: Candidate };
  /** Best first. */
  readonly all: readonly { readonly candidate: Candidate }[];
}

const found: { search?: Report; grid?: Report } = {};

async function tune(...flags: string[]): Promise<Report> {
  const home = await mkdtemp(join(tmpdir(), 'lehr-tune-'));
  try {
    const models = join(home, 'models.yaml');
    const defaults = { width: SIDE, height: SIDE, steps: STEPS, guidance: 2, sampler: 'ddim' };
    const entry = { name: 'demo', task: 'diffusion', versions: [{ version: '1', path: FOLDER }], defaults };
    // JSON is YAML.
    await writeFile(models, JSON.stringify({ models: [entry] }));
    const report = join(home, 'report.json');
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('LEHR_'));
    const child = spawn(process.execPath, [LEHR, 'tune', 'demo', '--report', report, ...flags], {
      env: { ...Object.fromEntries(inherited), LEHR_HOME: home, LEHR_MODELS: models, LEHR_DEVICE: 'cpu' },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`lehr tune ended with ${code}`);
    return JSON.parse(await readFile(report, 'utf8')) as Report;
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

const searchTime: RatioFigure = {
  kind: 'ratio',
  name: 'lehr tune: time of the search over that of the whole grid, demo model',
  unit: 's',
  rounds: 1,
  warmUps: 0,
  target: { atMost: 0.25 },
  open: async () => ({
    ours: async () => {
      found.search = await tune();
      return found.search.seconds;
    },
    baseline: async () => {
      found.grid = await tune('--grid');
      return found.grid.seconds;
    },
    close: async () => {},
  }),
};

/** A process with the settings of a candidate, and pictures per second of a round of it. */
async function opened({ session, rowCap }: Candidate): Promise<{ side: Side; close(): Promise<void> }> {
  const model = { task: 'diffusion', folder: FOLDER, width: SIDE, height: SIDE } as const;
  const trial = await TrialProcess.start({ model, session }, TRIAL);
  if ('failure' in trial) throw new Error(trial.failure);
  const jobMs: number[] = [];
  const side = async (): Promise<number> => {
    const taken = await trial.take({ rows: rowCap, calls: Math.ceil(ROWS / rowCap), job: true });
    if ('failure' in taken) throw new Error(taken.failure);
    jobMs.push(taken.jobMs ?? 0);
    const perJobMs = durationsOf(jobMs).medianMs;
    const measured = { step: durationsOf(taken.stepMs), perJobMs, residentBytes: taken.residentBytes };
    return figuresOf(rowCap, 1, measured, { rows: ROWS_PER_PICTURE, steps: STEPS }).jobsPerS;
  };
  return { side, close: () => trial.close() };
}

const choice: RatioFigure = {
  kind: 'ratio',
  name: 'lehr tune: throughput of its choice over the best of the whole grid, demo model',
  unit: 'pictures/s',
  rounds: 61,
  warmUps: 2,
  target: { atLeast: 0.97 },
  open: async () => {
    const { search, grid } = found;
    if (!search || !grid) throw new Error('the search and the grid were not measured');
    const [chosen, best] = [search.chosen.candidate, grid.all[0].candidate];
    console.log(`      chosen: ${JSON.stringify(chosen)}; best of the grid: ${JSON.stringify(best)}`);
    const [ours, baseline] = [await opened(chosen), await opened(best)];
    return {
      ours: ours.side,
      baseline: baseline.side,
      close: async () => void (await Promise.all([ours.close(), baseline.close()])),
    };
  },
};

export const figures: readonly Figure[] = [searchTime, choice];
