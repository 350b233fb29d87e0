/** Steps of 512x512 at full width: of Lehr and of Optimum's pipeline, in turns, with one thread each. */
import { join } from 'node:path';
import { LaneSample } from '../../../apps/worker/src/engine/diffusion/lane-sample.ts';
import type { SampleId } from '../../../apps/worker/src/engine/protocol.ts';
import { readDiffusionConfig } from '../../../apps/worker/src/models/diffusion/diffusion-config.ts';
import { loadUnet } from '../../../apps/worker/src/models/diffusion/load-unet.ts';
import { onnxRuntime } from '../../../apps/worker/src/runtime/onnx.ts';
import { interleaved, ratioRow } from '../peers/interleaved.ts';
import type { PythonProgram } from '../python.ts';
import type { Bench, Row } from '../section.ts';
import { fullSize, openEngine } from './full-size.ts';

const ROUNDS = 3;
const LATENT = { height: 64, width: 64, channels: 4 };
const TEXT = { tokens: 77, width: 768 };
/** One more step warms up. */
const CASE = { prompt: 'a cat', width: 512, height: 512, steps: ROUNDS + 1, guidance: 1, seed: 3 } as const;

interface Step {
  readonly seconds: number;
  readonly cpu_seconds: number;
}

/** Both sides hold no text encoder and no VAE while they make steps; they were seen to need 12 GB of memory together all the same. */
export async function stepTime(bench: Bench): Promise<readonly Row[]> {
  const folder = await fullSize(bench, 'sd15');
  bench.say("opening Optimum's pipeline and Lehr's UNet; they need 12 GB of memory together");
  const theirs = await optimumSteps(bench, folder);
  const ours = await lehrSteps(join(folder, 'onnx'));
  const steps = new Map<string, Step[]>([
    ['lehr', []],
    ['optimum', []],
  ]);
  await interleaved(['lehr', 'optimum'] as const, ROUNDS, async (side) => {
    const step = await (side === 'lehr' ? ours() : theirs.ask<Step>({ do: 'step' }));
    bench.say(`${side}: ${step.seconds.toFixed(1)} s, ${step.cpu_seconds.toFixed(1)} s of CPU time`);
    steps.get(side)?.push(step);
    return step.seconds;
  });
  await theirs.close();
  const valuesOf = (side: string, field: keyof Step): number[] =>
    (steps.get(side) ?? []).slice(1).map((step) => step[field]);
  const row = (what: string, field: keyof Step): Row =>
    ratioRow(what, valuesOf('lehr', field), valuesOf('optimum', field), { unit: 's' });
  return [
    row("512x512, one row, Optimum's pipeline: CPU time of a step", 'cpu_seconds'),
    row("512x512, one row, Optimum's pipeline: seconds of a step", 'seconds'),
  ];
}

async function optimumSteps(bench: Bench, folder: string): Promise<PythonProgram> {
  const program = await openEngine(bench, folder, 'onnx');
  await program.ask({ do: 'steps', case: CASE });
  return program;
}

/** Makes one step of a picture at each call: sampler, UNet and conversions, as a lane does. */
async function lehrSteps(folder: string): Promise<() => Promise<Step>> {
  const plan = {
    latentChannels: LATENT.channels,
    embeddingDim: TEXT.width,
    tokens: TEXT.tokens,
    probe: { height: 16, width: 16 },
  };
  const cpu = { providers: ['cpu'], threads: 1 } as const;
  const { unet } = await loadUnet(join(folder, 'unet/model.onnx'), plan, onnxRuntime, cpu);
  const { scheduler } = await readDiffusionConfig(folder);
  const sample = new LaneSample(
    {
      ...CASE,
      id: 'step' as SampleId,
      task: 'diffusion',
      model: 'sd15@1',
      lane: 'step',
      negativePrompt: '',
      sampler: 'euler',
      maxBatchMates: 1,
    },
    scheduler,
    LATENT.channels * LATENT.height * LATENT.width,
    0,
  );
  // The time of a step does not depend on the values.
  sample.setEmbeddings([{ hidden: new Float32Array(TEXT.tokens * TEXT.width).fill(0.5), pooled: undefined }]);
  return async () => {
    const [startedAt, before] = [performance.now(), process.cpuUsage()];
    sample.advance(await unet.predict(sample.nextRows(), LATENT), 0, 1);
    const { user, system } = process.cpuUsage(before);
    return { seconds: (performance.now() - startedAt) / 1000, cpu_seconds: (user + system) / 1e6 };
  };
}
