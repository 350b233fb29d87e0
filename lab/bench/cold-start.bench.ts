/**
 * How long a worker takes until it serves, in parts. COLD_START_MODEL names the folder of a second diffusion model, and
 * COLD_START_SIZE the width of its first picture. With `--write`, the table goes into docs/scaling.md and its plot beside it.
 */
import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { basename } from 'node:path';
import { writeSection } from '../simulation/scaling/page.ts';
import { type ColdBar, coldStartPlot } from './cold-start-plot.ts';
import { bytesOf, type ColdModel, coldStarts, PARTS, type Parts, STATES, type State } from './cold-starts.ts';
import { percentile, type SampledFigure } from './harness.ts';

const ROUNDS = 3;
const PLOT = new URL('../../docs/scaling/cold-start.svg', import.meta.url);
const DEMO = new URL('../../packages/demo-models/models/demo-diffusion', import.meta.url).pathname;
const { COLD_START_MODEL: other, COLD_START_SIZE: size = '512' } = process.env;
const MODELS: readonly ColdModel[] = [
  { name: 'demo-diffusion', folder: DEMO, size: 256 },
  ...(other ? [{ name: basename(other), folder: other, size: Number(size) }] : []),
];

type Starts = Readonly<Record<State, Parts[]>>;
const measured = new Map<ColdModel, Promise<Starts>>();

/** All figures of a model come from the same starts. */
function startsOf(model: ColdModel): Promise<Starts> {
  const found = measured.get(model) ?? coldStarts(model, ROUNDS);
  measured.set(model, found);
  return found;
}

const figure = (model: ColdModel, state: State, part: (typeof PARTS)[number]): SampledFigure => ({
  kind: 'sampled',
  name: `${model.name}, ${state}: ${part}`,
  unit: 'ms',
  percentile: 50,
  open: async () => ({
    samples: async () => {
      const starts = await startsOf(model);
      if (model === MODELS.at(-1) && isLast(state, part) && process.argv.includes('--write')) await write();
      return starts[state].map((each) => each[part]);
    },
    close: async () => {},
  }),
});

const isLast = (state: State, part: string): boolean => state === STATES.at(-1) && part === PARTS.at(-1);

export const figures = MODELS.flatMap((model) =>
  STATES.flatMap((state) => PARTS.map((part) => figure(model, state, part))),
);

/** The medians of each model and state, in the order of the table. */
async function barsOf(): Promise<ColdBar[]> {
  const bars: ColdBar[] = [];
  for (const model of MODELS) {
    const starts = await startsOf(model);
    const megabytes = Math.round((await bytesOf(model.folder)) / 1e6);
    for (const state of STATES) {
      const medians = PARTS.map((part) => [
        part,
        percentile(
          starts[state].map((each) => each[part]),
          50,
        ),
      ]);
      bars.push({ name: `${model.name} (${megabytes} MB), ${state}`, parts: Object.fromEntries(medians) });
    }
  }
  return bars;
}

async function write(): Promise<void> {
  const bars = await barsOf();
  await writeSection('cold-start', table(bars));
  await writeFile(PLOT, coldStartPlot(bars));
}

function table(bars: readonly ColdBar[]): string {
  const lines = [`| Model, state | ${PARTS.join(' | ')} |`, `| --- |${' --- |'.repeat(PARTS.length)}`];
  for (const { name, parts } of bars) {
    const cells = PARTS.map((part) => (parts[part] / 1000).toFixed(2));
    lines.push(`| ${name} | ${cells.join(' | ')} |`);
  }
  const load = loadavg()[0].toFixed(1);
  return `${lines.join('\n')}\n\nMedians of ${ROUNDS} starts of each, in seconds; the load of the machine was ${load} at the end.`;
}
