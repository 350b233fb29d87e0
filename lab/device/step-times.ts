/** How long a step takes by rows: the run of the graph, and what Lehr adds to it. */

import type { Provider } from '../../apps/worker/src/engine/runtime/runtime.ts';
import { usedMemory } from './device-machine.ts';
import { DEMO_DIFFUSION } from './equal-pictures.ts';
import { type Spread, spreadOf } from './figures.ts';
import { openPictureEngine, type PictureRequest } from './picture-engine.ts';

const ROWS = [1, 2, 4, 8, 16, 32];
/** The first steps of a batch size are left out: other rows may still join. */
const SKIPPED = 2;

export interface StepTimes {
  readonly rows: number;
  readonly step: Spread;
  readonly run: Spread;
  /** What Lehr computes around the run, for one row. */
  readonly hostPerRow: Spread;
}

export interface ModelSteps {
  readonly openMs: number;
  /** Ms by rows, as the engine measured them when it opened the model. */
  readonly warmUp: readonly (readonly [rows: number, ms: number])[];
  /** What the engine chose from them. */
  readonly rowCap: number;
  readonly memoryMiB: { readonly before: number; readonly opened: number; readonly after: number };
  readonly graphs: unknown;
  readonly steps: readonly StepTimes[];
}

export async function modelSteps(
  folder: string,
  provider: Provider,
  side: number,
  count: number,
): Promise<ModelSteps> {
  const before = usedMemory();
  const engine = await openPictureEngine({ folder, providers: [provider], rowCap: 'auto', side });
  const opened = usedMemory();
  const { openMs, opened: model } = engine;
  await engine.close();
  const wide = await openPictureEngine({ folder, providers: [provider], rowCap: 32, side });
  const steps: StepTimes[] = [];
  for (const rows of ROWS) {
    const request: PictureRequest = { width: side, height: side, guidance: 1, steps: count + SKIPPED };
    const ends = await wide.draw(Array.from({ length: rows }, () => request));
    const failed = ends.find((end) => end instanceof Error);
    if (failed) throw failed;
    const full = wide.steps.filter((step) => step.rows === rows).slice(SKIPPED);
    steps.push({
      rows,
      step: spreadOf(full.map(({ ms }) => ms)),
      run: spreadOf(full.map(({ runMs }) => runMs)),
      hostPerRow: spreadOf(full.map(({ ms, runMs }) => (ms - runMs) / rows)),
    });
  }
  const after = usedMemory();
  await wide.close();
  return {
    openMs,
    warmUp: model.stepMs,
    rowCap: model.rowCap,
    memoryMiB: { before, opened, after },
    graphs: model.graphs,
    steps,
  };
}

export const demoSteps = (provider: Provider): Promise<ModelSteps> =>
  modelSteps(DEMO_DIFFUSION, provider, 256, 60);

export const fullSteps = (folder: string, provider: Provider): Promise<ModelSteps> =>
  modelSteps(folder, provider, 512, 12);
