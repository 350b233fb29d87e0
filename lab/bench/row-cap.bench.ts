/**
 * The row cap that a worker measures for itself, beside the best fixed one of a sweep: on simulated devices, some of which change while
 * they serve (in virtual time, so the machine does not matter), and on the demo model. And what a picture that is decoded does to the
 * steps of a lane.
 */
import { dirname, join } from 'node:path';
import { openDiffusionModel } from '../../apps/worker/src/engine/diffusion/folder/diffusion-folder.ts';
import { probeRow } from '../../apps/worker/src/engine/diffusion/folder/load-rows.ts';
import { warmUp } from '../../apps/worker/src/engine/diffusion/lane/diffusion-lanes.ts';
import { ROW_LADDER, RowCap } from '../../apps/worker/src/engine/lanes/row-cap.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import { demoModelsFile } from '../../packages/demo-models/src/index.ts';
import { systemClock } from '../../packages/shared/src/index.ts';
import type { Figure, RatioFigure } from './harness.ts';
import { bestFixed, type Device, throughput, warmCap } from './policy/saturated-lane.ts';

const line =
  (fixed: number, perRow: number): Device =>
  (rows) =>
    fixed + perRow * rows;

/** As in lab/performance.md. */
const T4 = line(9, 61.9);
const U16 = line(8.2, 10.3);
const U8 = line(3.4, 1.32);

/** Another process takes a core of a machine with two, and gives it back: fewer rows then use the device fully. */
const NEIGHBOUR_MS = 600_000;
const neighbour: Device = (rows, at) =>
  at > NEIGHBOUR_MS && at < 2 * NEIGHBOUR_MS ? line(2, 13)(rows, at) : U16(rows, at);
/** A card that is too hot takes twice as long for everything, and recovers. */
const throttled: Device = (rows, at) =>
  at > NEIGHBOUR_MS && at < 2 * NEIGHBOUR_MS ? 2 * U8(rows, at) : U8(rows, at);

const simulated = (name: string, device: Device, forMs: number): RatioFigure => ({
  kind: 'ratio',
  name: `row cap: simulated ${name}, a full lane for ${forMs / 60_000} minutes, over the best fixed cap`,
  unit: 'rows/ms',
  rounds: 1,
  warmUps: 0,
  target: { atLeast: 0.97 },
  open: async () => ({
    ours: () => throughput(device, forMs, warmCap(device)),
    baseline: () => bestFixed(device, forMs),
    close: async () => {},
  }),
});

/** So many passes over the ladder find the best fixed cap. */
const SWEEPS = 4;
const RUNS = 3;
const SIDE = 256;

/**
 * The demo model on this machine: rows per ms at the measured cap, and at the best row count of a sweep. The sweep ends before the
 * rounds, and each side of a round makes equally many runs: the best of all rungs in each round would be the best of many more.
 */
const demo: RatioFigure = {
  kind: 'ratio',
  name: 'row cap: the demo model on this machine, 256x256, over the best fixed cap',
  unit: 'rows/ms',
  rounds: 9,
  target: { atLeast: 0.97 },
  open: async () => {
    const folder = join(dirname(demoModelsFile()), 'demo-diffusion');
    const model = await openDiffusionModel(folder, onnxRuntime, { providers: ['cpu'] });
    const cap = new RowCap();
    await warmUp(model, { width: SIDE, height: SIDE }, cap, systemClock);
    const size = { width: SIDE / model.vae.scaleFactor, height: SIDE / model.vae.scaleFactor };
    const row = probeRow(model.unet, size, model.tokenizer.maxTokens, 1);
    const rate = async (rows: number, runs = RUNS): Promise<number> => {
      let best = 0;
      for (let run = 0; run < runs; run++) {
        const startedAt = performance.now();
        await model.unet.predict(new Array(rows).fill(row), size);
        best = Math.max(best, rows / (performance.now() - startedAt));
      }
      return best;
    };
    const bestRows = await sweep(rate);
    console.log(`      measured cap: ${cap.rows} rows; best of the sweep: ${bestRows} rows`);
    return { ours: () => rate(cap.rows), baseline: () => rate(bestRows), close: () => model.close() };
  },
};

/** The row count with the highest rate in any pass. */
async function sweep(rate: (rows: number, runs: number) => Promise<number>): Promise<number> {
  const best = new Map<number, number>();
  for (let pass = 0; pass < SWEEPS; pass++) {
    for (const rows of ROW_LADDER) best.set(rows, Math.max(best.get(rows) ?? 0, await rate(rows, 1)));
  }
  return [...best].reduce((a, b) => (b[1] > a[1] ? b : a))[0];
}

export const figures: readonly Figure[] = [
  simulated('T4', T4, 600_000),
  simulated('U16', U16, 600_000),
  simulated('U8', U8, 600_000),
  simulated('U16 whose neighbour takes a core for a third of the time', neighbour, 3 * NEIGHBOUR_MS),
  simulated('U8 that is throttled to half its speed for a third of the time', throttled, 3 * NEIGHBOUR_MS),
  demo,
];
