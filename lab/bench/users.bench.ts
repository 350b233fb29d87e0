/**
 * The classic load test through all of Lehr with the demo model: one user, then eight users who arrive one after the other, each posting
 * the next picture when the last one is there. Time is compressed: on the card of the article a picture took 3.4 s and a user came every 50 s.
 */
import type { Chart } from './charts.ts';
import { distribution, rounded } from './charts.ts';
import type { SampledFigure } from './harness.ts';
import { benchModels } from './models.ts';
import { type Picture, startWholeLehr, type WholeLehr } from './whole-lehr.ts';

const USERS = 8;
/** As 50 s are to 3.43 s. */
const ARRIVAL_IN_PICTURES = 50 / 3.43;
/** So many arrivals after the last one, all users stop. */
const AFTER = 1.5;
const ALONE = 8;

interface Load {
  readonly aloneMs: readonly number[];
  readonly together: readonly { readonly ms: number; readonly users: number }[];
  /** Seconds since the first user, and mean rows of the calls since the time before. */
  readonly rows: readonly (readonly [number, number])[];
}

let measured: Promise<Load> | undefined;

const picture = (seed: number): Picture => ({
  prompt: 'a red circle on a blue background',
  steps: 20,
  guidance: 8.2,
  seed,
  width: 128,
  height: 128,
});

async function measureLoad(): Promise<Load> {
  const models = await benchModels();
  const lehr = await startWholeLehr({
    LEHR_MODELS: models.file,
    LEHR_TASKS: 'diffusion',
    LEHR_DEVICE: 'cpu',
  });
  try {
    await lehr.draw([picture(0)]);
    const aloneMs: number[] = [];
    for (let seed = 1; seed <= ALONE; seed++) aloneMs.push(await lehr.draw([picture(seed)]));
    const usual = [...aloneMs].sort((a, b) => a - b)[ALONE >> 1];
    return { aloneMs, ...(await eightUsers(lehr, usual * ARRIVAL_IN_PICTURES)) };
  } finally {
    await lehr.close();
    await models.remove();
  }
}

async function eightUsers(lehr: WholeLehr, everyMs: number): Promise<Omit<Load, 'aloneMs'>> {
  const startedAt = performance.now();
  const endMs = everyMs * (USERS - 1 + AFTER);
  const together: { ms: number; users: number }[] = [];
  const rows: [number, number][] = [];
  let seed = 100;
  const elapsed = (): number => performance.now() - startedAt;
  const user = async (place: number): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, place * everyMs));
    while (elapsed() < endMs) {
      const users = Math.min(USERS, 1 + Math.floor(elapsed() / everyMs));
      together.push({ ms: await lehr.draw([picture(seed++)]), users });
    }
  };
  let before = await callsSoFar(lehr);
  const watch = setInterval(async () => {
    const now = await callsSoFar(lehr);
    if (now.calls > before.calls) {
      rows.push([rounded(elapsed() / 1000), rounded((now.rows - before.rows) / (now.calls - before.calls))]);
    }
    before = now;
  }, endMs / 100);
  await Promise.all(Array.from({ length: USERS }, (_, i) => user(i)));
  clearInterval(watch);
  return { together, rows };
}

/** Of the worker's own metrics. */
async function callsSoFar({ workerUrl }: WholeLehr): Promise<{ calls: number; rows: number }> {
  const text = await (await fetch(`${workerUrl}/metrics`)).text();
  const sum = (name: string): number =>
    [...text.matchAll(new RegExp(`^${name}\\{[^}]*\\} (\\S+)$`, 'gm'))].reduce(
      (all, [, value]) => all + Number(value),
      0,
    );
  return { calls: sum('lehr_batch_rows_count'), rows: sum('lehr_batch_rows_sum') };
}

const figure = (name: string, unit: string, samples: (load: Load) => readonly number[]): SampledFigure => ({
  kind: 'sampled',
  name,
  unit,
  percentile: 50,
  open: async () => ({
    samples: async () => {
      measured ??= measureLoad();
      return samples(await measured);
    },
    close: async () => {},
  }),
});

const medianOf = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1];
const withUsers = ({ together }: Load, users: number): number[] =>
  together.filter((each) => each.users === users).map(({ ms }) => ms);

export const figures: readonly SampledFigure[] = [
  figure('closed loop, one user: latency', 'ms', ({ aloneMs }) => aloneMs),
  figure('closed loop, all eight users: latency', 'ms', (load) => withUsers(load, USERS)),
  figure('closed loop, all eight users: slowdown', 'x alone', (load) =>
    withUsers(load, USERS).map((ms) => ms / medianOf(load.aloneMs)),
  ),
];

export async function charts(): Promise<Chart[]> {
  const load = await measured;
  if (!load) return [];
  const counts = [1, 4, USERS].filter((users) => withUsers(load, users).length > 0);
  return [
    {
      part: 'waits',
      kind: 'lines',
      title: 'Latency of users in closed loops, all of Lehr',
      about:
        'The demo model on the CPU of this machine, 128x128, 20 steps with guidance. Each user posts the next picture when the last one is there.',
      x: { label: 'ms' },
      y: { label: '% of pictures at most so slow' },
      series: counts.map((users) => ({
        name: users === 1 ? 'one user' : `${users} users`,
        points: distribution(withUsers(load, users)),
      })),
    },
    {
      part: 'batches',
      kind: 'lines',
      title: 'Eight users arrive one after the other, all of Lehr',
      about:
        'The same load; the mean of the calls in each hundredth of the time. A picture with guidance has two rows.',
      x: { label: 'seconds' },
      y: { label: 'rows per call' },
      series: [{ name: 'Lehr', role: 'lehr', points: load.rows }],
    },
  ];
}
