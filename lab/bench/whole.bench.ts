/** All of Lehr compared with the bare loop over the same graphs: the cost of queue, engine and store. */

import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseRegistry } from '../../packages/shared/src/index.ts';
import { openBareLoop } from './bare-loop.ts';
import type { RatioFigure } from './harness.ts';
import { benchModels } from './models.ts';
import { type Picture, startWholeLehr } from './whole-lehr.ts';

const STEPS = 20;
/** Pictures in a full batch; two rows each. */
const BATCH = 4;
const BATCHES = 3;
const SIZE = { width: 256, height: 256 };

const pictures = (count: number): Picture[] =>
  Array.from({ length: count }, (_, seed) => ({
    prompt: `a red circle on a blue background, number ${seed}`,
    steps: STEPS,
    guidance: 5,
    seed,
    ...SIZE,
  }));

async function sides() {
  const models = await benchModels();
  const { file } = models;
  const { model, ref } = parseRegistry(await readFile(file, 'utf8')).resolve('diffusion', undefined, 0);
  const version = model.versions.find((each) => each.version === ref.version);
  const bare = await openBareLoop(join(dirname(file), version?.path ?? ''), SIZE);
  const lehr = await startWholeLehr({
    LEHR_ROW_CAP: `${2 * BATCH}`,
    LEHR_TASKS: 'diffusion',
    LEHR_DEVICE: 'cpu',
    LEHR_MODELS: file,
  });
  return {
    bare,
    lehr,
    close: async () => {
      await lehr.close();
      await bare.close();
      await models.remove();
    },
  };
}

export const figures: readonly RatioFigure[] = [
  {
    kind: 'ratio',
    name: `pictures/s of the whole stack over a bare ONNX Runtime loop, ${BATCH * BATCHES} jobs at once, ${2 * BATCH} rows`,
    unit: 'pictures/s',
    target: { atLeast: 0.95 },
    rounds: 7,
    open: async () => {
      const { bare, lehr, close } = await sides();
      const count = BATCH * BATCHES;
      return {
        ours: async () => (count / (await lehr.draw(pictures(count)))) * 1000,
        baseline: async () => (count / (await bare.draw(count, BATCH, STEPS))) * 1000,
        close,
      };
    },
  },
  {
    kind: 'ratio',
    name: 'latency of one user, request to answer, over the bare loop for one picture',
    unit: 'ms',
    target: { atMost: 1.05 },
    rounds: 11,
    open: async () => {
      const { bare, lehr, close } = await sides();
      return { ours: () => lehr.draw(pictures(1)), baseline: () => bare.draw(1, 1, STEPS), close };
    },
  },
];
