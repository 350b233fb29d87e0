/** All of Lehr with Stable Diffusion 1.5 at full size, over a bare loop of the graphs as Optimum exported them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { openBareLoop } from '../../bench/bare-loop.ts';
import { startWholeLehr } from '../../bench/whole-lehr.ts';
import { interleaved, ratioRow } from '../peers/interleaved.ts';
import type { Bench, Row } from '../section.ts';
import { fullSize } from './full-size.ts';

const SIZE = { width: 512, height: 512 };
const STEPS = 4;
/** Pictures of a batch; two rows each. */
const BATCH = 2;
const ROUNDS = 2;

export async function whole(bench: Bench): Promise<readonly Row[]> {
  const folder = join(await fullSize(bench, 'sd15'), 'onnx');
  const home = await mkdtemp(join(tmpdir(), 'lehr-whole-'));
  try {
    const models = join(home, 'models.yaml');
    await writeFile(
      models,
      `models:
  - name: sd15
    task: diffusion
    versions: [{ version: "1", path: ${relative(home, folder)} }]
    defaults: { width: ${SIZE.width}, height: ${SIZE.height} }
`,
    );
    const bare = await openBareLoop(folder, SIZE);
    bench.say('opening all of Lehr');
    const lehr = await startWholeLehr({
      LEHR_MODELS: models,
      LEHR_TASKS: 'diffusion',
      LEHR_DEVICE: 'cpu',
      LEHR_ROW_CAP: `${2 * BATCH}`,
    });
    try {
      const jobs = Array.from({ length: BATCH }, (_, seed) => ({
        prompt: `a red circle on a blue background, number ${seed}`,
        steps: STEPS,
        guidance: 5,
        seed,
        ...SIZE,
      }));
      const sides = ['lehr', 'bare'] as const;
      const [ours, theirs] = await interleaved(sides, ROUNDS, async (side) => {
        const ms = await (side === 'lehr' ? lehr.draw(jobs) : bare.draw(BATCH, BATCH, STEPS));
        bench.say(`${side}: ${(ms / 1000).toFixed(1)} s`);
        return (BATCH / ms) * 60_000;
      });
      const what = `${BATCH} pictures of 512x512 at once, ${STEPS} steps, guidance: pictures per minute, Lehr fused, the bare loop as exported`;
      return [ratioRow(what, ours.values, theirs.values, { unit: '/min', atLeast: 1 })];
    } finally {
      await lehr.close();
      await bare.close();
    }
  } finally {
    await rm(home, { recursive: true });
  }
}
