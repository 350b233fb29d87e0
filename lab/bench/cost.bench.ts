/**
 * CPU time of every process for one picture, over the CPU time that the graphs alone take for it in a bare loop. The engine's own part is
 * what its process takes more than the bare loop of the same rows; a difference of two large numbers, so it is the least certain one.
 */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseRegistry } from '../../packages/shared/src/index.ts';
import { openBareLoop } from './bare-loop.ts';
import type { StackChart } from './charts.ts';
import { type Figure, percentile, type SampledFigure } from './harness.ts';
import { benchModels } from './models.ts';
import { differenceOf, PARTS, type ProcessCpu, readCpu } from './process-cpu.ts';
import { startWholeLehr } from './whole-lehr.ts';

const PICTURES = 24;
const BATCH = 4;
const STEPS = 20;
const SIZE = { width: 256, height: 256 };
const ROUNDS = 5;

interface Round {
  readonly lehr: ProcessCpu;
  /** CPU ms of the graphs for one picture. */
  readonly graphs: number;
}

let measured: Promise<readonly Round[]> | undefined;

async function measureRounds(): Promise<readonly Round[]> {
  const models = await benchModels();
  const { model, ref } = parseRegistry(await readFile(models.file, 'utf8')).resolve(
    'diffusion',
    undefined,
    0,
  );
  const version = model.versions.find((each) => each.version === ref.version);
  const bare = await openBareLoop(join(dirname(models.file), version?.path ?? ''), SIZE);
  const lehr = await startWholeLehr({
    LEHR_ROW_CAP: `${2 * BATCH}`,
    LEHR_TASKS: 'diffusion',
    LEHR_DEVICE: 'cpu',
    LEHR_MODELS: models.file,
  });
  const rounds: Round[] = [];
  try {
    for (let round = -1; round < ROUNDS; round++) {
      const before = readCpu(lehr);
      await lehr.draw(pictures());
      const own = differenceOf(before, readCpu(lehr), PICTURES);
      const cpu = process.cpuUsage();
      await bare.draw(PICTURES, BATCH, STEPS);
      const { user, system } = process.cpuUsage(cpu);
      if (round >= 0) rounds.push({ lehr: own, graphs: (user + system) / 1000 / PICTURES });
    }
  } finally {
    await lehr.close();
    await bare.close();
    await models.remove();
  }
  return rounds;
}

const pictures = () =>
  Array.from({ length: PICTURES }, (_, seed) => ({
    prompt: `a red circle on a blue background, number ${seed}`,
    steps: STEPS,
    guidance: 5,
    seed,
    ...SIZE,
  }));

/** Without the graphs: what Lehr adds. */
const added = ({ lehr, graphs }: Round): ProcessCpu => ({ ...lehr, engine: lehr.engine - graphs });

const sampled = (
  name: string,
  unit: string,
  value: (round: Round) => number,
  atMost?: number,
): SampledFigure => ({
  kind: 'sampled',
  name,
  unit,
  percentile: 50,
  ...(atMost !== undefined && { target: { atMost } }),
  open: async () => ({
    samples: async () => {
      measured ??= measureRounds();
      return (await measured).map(value);
    },
    close: async () => {},
  }),
});

const NAMES: Readonly<Record<keyof ProcessCpu, string>> = {
  engine: "engine, without the graphs' own CPU time",
  parent: "the worker's parent, JavaScript",
  encoder: "the worker's parent, encoding and other threads",
  api: 'API',
  redis: 'Redis',
};

export const figures: readonly Figure[] = [
  ...PARTS.map((part) => sampled(`CPU of one picture, ${NAMES[part]}`, 'ms', (round) => added(round)[part])),
  sampled('CPU of one picture, the graphs alone', 'ms', ({ graphs }) => graphs),
  sampled(
    "CPU of one picture, all of Lehr over the graphs'",
    '%',
    (round) => (100 * PARTS.reduce((sum, part) => sum + added(round)[part], 0)) / round.graphs,
    5,
  ),
];

export async function charts(): Promise<StackChart[]> {
  const rounds = (await measured) ?? [];
  const middle = (value: (round: Round) => number): number => Math.max(0, percentile(rounds.map(value), 50));
  const parts = PARTS.map((part) => ({ name: NAMES[part], value: middle((round) => added(round)[part]) }));
  const graphs = { name: 'graphs', value: middle((round) => round.graphs) };
  const about = `The demo model, ${SIZE.width}x${SIZE.height}, ${STEPS} steps with guidance, ${PICTURES} pictures at once. CPU time, not waiting.`;
  return [
    {
      part: 'cost',
      kind: 'stack',
      title: 'CPU of one picture',
      about,
      x: { label: 'ms of CPU' },
      bars: [
        { name: 'bare loop', parts: [graphs] },
        { name: 'Lehr', parts: [graphs, ...parts] },
      ],
    },
    {
      part: 'cost',
      kind: 'stack',
      title: 'CPU of one picture, without its graphs',
      about,
      x: { label: 'ms of CPU' },
      bars: parts.map((part) => ({ name: part.name.slice(0, 22), parts: [part] })),
    },
  ];
}
