/** t(rows): how long a step of the demo model takes on this machine, by its rows; in rounds over all row counts. */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseRegistry } from '../../packages/shared/src/index.ts';
import { openBareLoop } from './bare-loop.ts';
import { type Chart, rounded } from './charts.ts';
import { percentile, type SampledFigure } from './harness.ts';
import { benchModels } from './models.ts';

const SIZES = [64, 128, 256];
/** Pictures of a batch; each has two rows. */
const PICTURES = [1, 2, 4, 8];
const STEPS = 4;
const ROUNDS = 5;

type Curve = readonly (readonly [rows: number, ms: number])[];

const curves = new Map<number, Promise<Curve>>();

async function measureCurve(side: number): Promise<Curve> {
  const models = await benchModels();
  const { model, ref } = parseRegistry(await readFile(models.file, 'utf8')).resolve(
    'diffusion',
    undefined,
    0,
  );
  const version = model.versions.find((each) => each.version === ref.version);
  const folder = join(dirname(models.file), version?.path ?? '');
  const bare = await openBareLoop(folder, { width: side, height: side });
  const times = new Map<number, number[]>(PICTURES.map((count) => [count, []]));
  try {
    for (let round = -1; round < ROUNDS; round++) {
      for (const count of PICTURES) {
        // Without its text and its decode: the difference of two runs.
        const [few, many] = [await bare.draw(count, count, 1), await bare.draw(count, count, 1 + STEPS)];
        if (round >= 0) times.get(count)?.push((many - few) / STEPS);
      }
    }
  } finally {
    await bare.close();
    await models.remove();
  }
  return PICTURES.map((count) => [2 * count, percentile(times.get(count) ?? [], 50)]);
}

const curveOf = (side: number): Promise<Curve> => {
  const curve = curves.get(side) ?? measureCurve(side);
  curves.set(side, curve);
  return curve;
};

export const figures: readonly SampledFigure[] = SIZES.map((side) => ({
  kind: 'sampled',
  name: `demo-diffusion, ${side}x${side}: time of a row in a step of 2 rows over that in a step of 16`,
  unit: 'times',
  percentile: 50,
  open: async () => ({
    samples: async () => {
      const curve = await curveOf(side);
      const perRow = (rows: number): number =>
        (curve.find(([each]) => each === rows)?.[1] ?? Number.NaN) / rows;
      return [perRow(2) / perRow(16)];
    },
    close: async () => {},
  }),
}));

export async function charts(): Promise<Chart[]> {
  const all = await Promise.all(SIZES.map(async (side) => ({ side, curve: await curveOf(side) })));
  return [
    {
      part: 'device',
      kind: 'lines',
      title: 'Time of a step over its rows, the demo model on this machine',
      about:
        'The smaller the picture, the more a batch gains. The row cap of Lehr is the fewest rows with nearly the best time of a row.',
      x: { label: 'rows' },
      y: { label: 'ms per row', isLog: true },
      series: all.map(({ side, curve }) => ({
        name: `${side}x${side}`,
        points: curve.map(([rows, ms]): [number, number] => [rows, rounded(ms / rows)]),
      })),
    },
  ];
}
