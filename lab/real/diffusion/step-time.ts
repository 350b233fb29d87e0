/** Steps of 512x512 at full width with one thread each: of Lehr, of the bare graph, and of Optimum's pipeline. */
import { join } from 'node:path';
import { readDiffusionConfig } from '../../../apps/worker/src/engine/diffusion/folder/diffusion-config.ts';
import { type LoadedUnet, loadUnet } from '../../../apps/worker/src/engine/diffusion/folder/load-unet.ts';
import { LaneSample } from '../../../apps/worker/src/engine/diffusion/lane/lane-sample.ts';
import type { SampleId } from '../../../apps/worker/src/engine/protocol/messages.ts';
import { onnxRuntime } from '../../../apps/worker/src/engine/runtime/onnx.ts';
import { interleaved, ratioRow } from '../peers/interleaved.ts';
import type { PythonProgram } from '../python.ts';
import type { Bench, Row } from '../section.ts';
import { fullSize, openEngine } from './full-size.ts';

/** Their median, because the CPU time of one step differs by some per cent between runs of the same graph. */
const ROUNDS = 6;
const LATENT = { height: 64, width: 64, channels: 4 };
export const UNET_TEXT = { tokens: 77, width: 768 };
/** The share of the bare loop's speed that Lehr wants to keep. */
const SHARE = 0.98;
/** The first step warms up. */
const CASE = { prompt: 'a cat', width: 512, height: 512, steps: ROUNDS + 1, guidance: 1, seed: 3 } as const;

interface Step {
  readonly seconds: number;
  readonly cpu_seconds: number;
}

/**
 * Optimum's pipeline first and then Lehr, each closed before the other opens: together they were seen to need 12 GB of memory. Lehr's
 * steps alternate with runs of its own session on the same inputs, which are the bare loop.
 */
export async function stepTime(bench: Bench): Promise<readonly Row[]> {
  const folder = await fullSize(bench, 'sd15');
  bench.say("opening Optimum's pipeline");
  const pipeline = await optimumSteps(bench, folder);
  const theirs: Step[] = [];
  for (let round = -1; round < ROUNDS; round += 1) {
    const step = await pipeline.ask<Step>({ do: 'step' });
    bench.say(`optimum: ${step.seconds.toFixed(1)} s, ${step.cpu_seconds.toFixed(1)} s of CPU time`);
    if (round >= 0) theirs.push(step);
  }
  await pipeline.close();
  bench.say("opening Lehr's UNet");
  const { step, bare, close } = await lehrSteps(join(folder, 'onnx'));
  // Its inputs are those of the first bare run.
  await step();
  const taken = new Map<string, Step[]>([
    ['lehr', []],
    ['bare', []],
  ]);
  await interleaved(['lehr', 'bare'] as const, ROUNDS, async (side) => {
    const made = await (side === 'lehr' ? step() : bare());
    bench.say(`${side}: ${made.seconds.toFixed(1)} s, ${made.cpu_seconds.toFixed(1)} s of CPU time`);
    taken.get(side)?.push(made);
    return made.seconds;
  });
  await close();
  const ours = (side: string): Step[] => (taken.get(side) ?? []).slice(1);
  const row = (other: string, field: keyof Step, steps: readonly Step[], atLeast?: number): Row =>
    ratioRow(
      `512x512, one row, ${other}: steps per second${field === 'cpu_seconds' ? ' of CPU time' : ''}`,
      ours('lehr').map((each) => 1 / each[field]),
      steps.map((each) => 1 / each[field]),
      { unit: '/s', ...(atLeast !== undefined && { atLeast }) },
    );
  return [
    row('bare loop of the same graph', 'cpu_seconds', ours('bare'), SHARE),
    row('bare loop of the same graph', 'seconds', ours('bare')),
    row("Optimum's pipeline, before Lehr", 'cpu_seconds', theirs, SHARE),
    row("Optimum's pipeline, before Lehr", 'seconds', theirs),
  ];
}

async function optimumSteps(bench: Bench, folder: string): Promise<PythonProgram> {
  const program = await openEngine(bench, folder, 'onnx');
  await program.ask({ do: 'steps', case: CASE });
  return program;
}

interface LehrSteps {
  /** Makes one step of a picture: sampler, UNet and conversions, as a lane does. */
  step(): Promise<Step>;
  /** Runs the graph on the inputs of the last step, and nothing else. */
  bare(): Promise<Step>;
  close(): Promise<void>;
}

/** Lehr's UNet of Stable Diffusion 1.5, with one thread. */
export function openUnet(folder: string): Promise<LoadedUnet> {
  const plan = {
    latentChannels: LATENT.channels,
    embeddingDim: UNET_TEXT.width,
    tokens: UNET_TEXT.tokens,
    probe: { height: 16, width: 16 },
  };
  const cpu = { providers: ['cpu'], threads: 1 } as const;
  return loadUnet(join(folder, 'unet/model.onnx'), plan, onnxRuntime, cpu);
}

async function lehrSteps(folder: string): Promise<LehrSteps> {
  const { unet, session } = await openUnet(folder);
  const run = session.run.bind(session);
  let last: Parameters<typeof run> | undefined;
  session.run = (...inputs) => {
    last = inputs;
    return run(...inputs);
  };
  const { scheduler } = await readDiffusionConfig(folder);
  const sample = new LaneSample(
    {
      ...CASE,
      steps: ROUNDS + 2,
      id: 'step' as SampleId,
      task: 'diffusion',
      model: 'sd15@1',
      lane: 'step',
      negativePrompt: '',
      sampler: 'euler',
      maxBatchMates: 1,
    },
    scheduler,
    [LATENT.channels, LATENT.height, LATENT.width],
    0,
  );
  // The time of a step does not depend on the values.
  sample.prompt.setEmbeddings([
    { hidden: new Float32Array(UNET_TEXT.tokens * UNET_TEXT.width).fill(0.5), pooled: undefined },
  ]);
  return {
    step: () =>
      timed(async () => {
        sample.advance(await unet.predict(sample.nextRows(), LATENT), 0, 1);
      }),
    bare: () =>
      timed(async () => {
        if (!last) throw new Error('No step has been made yet.');
        await run(...last);
      }),
    close: () => unet.close(),
  };
}

export async function timed(work: () => Promise<unknown>): Promise<Step> {
  const [startedAt, before] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(before);
  return { seconds: (performance.now() - startedAt) / 1000, cpu_seconds: (user + system) / 1e6 };
}
