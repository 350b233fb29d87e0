/** What a device does at its limits: memory, nodes that it does not support, shapes that it has not run, copies. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDiffusionModel } from '../../apps/worker/src/engine/diffusion/folder/diffusion-folder.ts';
import { probeRow } from '../../apps/worker/src/engine/diffusion/folder/load-rows.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import type { Provider, RuntimeSession } from '../../apps/worker/src/engine/runtime/runtime.ts';
import type { Tensor } from '../../apps/worker/src/engine/runtime/tensor.ts';
import { LehrError } from '../../packages/shared/src/index.ts';
import { usedMemory } from './device-machine.ts';
import { type Spread, spreadOf } from './figures.ts';
import { openPictureEngine } from './picture-engine.ts';
import { type SmallGraph, writeGraph } from './small-graphs.ts';

async function withGraph<T>(
  graph: SmallGraph,
  provider: Provider,
  use: (session: RuntimeSession) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-device-'));
  try {
    const path = join(folder, 'model.onnx');
    await writeGraph(path, graph);
    const session = await onnxRuntime.load({ path }, { providers: [provider] });
    try {
      return await use(session);
    } finally {
      await session.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const failureOf = async (work: () => Promise<unknown>): Promise<object> => {
  try {
    await work();
    return { answered: true };
  } catch (error) {
    return {
      code: error instanceof LehrError ? error.code : 'none',
      message: error instanceof Error ? error.message : String(error),
    };
  }
};

/** Tensors of 4 GiB, 64 GiB and 1 TiB, as far as they are refused; the session must run again afterwards. */
export const tooLarge = (provider: Provider): Promise<object> =>
  withGraph(
    {
      nodes: [
        { opType: 'Expand', input: ['x', 'shape'], output: ['wide'] },
        { opType: 'ReduceMax', input: ['wide'], output: ['y'] },
      ],
      inputs: [
        ['x', 'float32', ['n']],
        ['shape', 'int64', [2]],
      ],
      outputs: [['y', 'float32', ['a', 'b']]],
    },
    provider,
    async (session) => {
      const x: Tensor = { type: 'float32', data: Float32Array.of(1, 2, 3, 4), dims: [4] };
      const run = (rows: bigint) =>
        session.run({ x, shape: { type: 'int64', data: BigInt64Array.of(rows, 4n), dims: [2] } });
      const refused: object[] = [];
      for (const power of [28n, 32n, 36n]) refused.push(await failureOf(() => run(1n << power)));
      const { y } = await run(8n);
      return { refused, after: [...(y.data as Float32Array)] };
    },
  );

/** Rows of large pictures, until they do not fit: the engine must halve the batch and finish every picture. */
export async function pictureMemory(folder: string, provider: Provider, side: number): Promise<object> {
  const before = usedMemory();
  const engine = await openPictureEngine({ folder, providers: [provider], rowCap: 32, side: 512 });
  const request = { width: side, height: side, guidance: 1, steps: 2 };
  const startedAt = performance.now();
  const ends = await engine.draw(Array.from({ length: 32 }, () => request));
  const result = {
    pictures: ends.length,
    finished: ends.filter((end) => !(end instanceof Error)).length,
    errors: [...new Set(ends.flatMap((end) => (end instanceof Error ? [end.message.slice(0, 300)] : [])))],
    steps: engine.steps.map(({ rows, ms }) => ({ rows, ms })),
    rowCap: engine.rowCap,
    seconds: (performance.now() - startedAt) / 1000,
    memoryMiB: { before, after: usedMemory() },
  };
  const [again] = await engine.draw([{ width: 512, height: 512, guidance: 1, steps: 2 }]);
  await engine.close();
  return { ...result, afterwards: again instanceof Error ? again.message : 'finished' };
}

/** A graph whose only node is one that only the CPU has. */
export const onlyOnCpu = (provider: Provider): Promise<object> =>
  withGraph(
    {
      nodes: [{ opType: 'Unique', input: ['x'], output: ['y'] }],
      inputs: [['x', 'float32', ['n']]],
      outputs: [['y', 'float32', ['m']]],
    },
    provider,
    (session) =>
      failureOf(async () => {
        await session.run({ x: { type: 'float32', data: Float32Array.of(1, 1, 2), dims: [3] } });
      }),
  );

/** Latents and prompt embeddings of so many rows in float16 to the device, and predictions back, with no work between. */
export const copies = (provider: Provider): Promise<object> =>
  withGraph(
    {
      nodes: [
        { opType: 'Neg', input: ['sample'], output: ['out'] },
        { opType: 'ReduceMax', input: ['text'], output: ['most'] },
      ],
      inputs: [
        ['sample', 'float16', ['n', 4, 64, 64]],
        ['text', 'float16', ['n', 77, 768]],
      ],
      outputs: [
        ['out', 'float16', ['n', 4, 64, 64]],
        ['most', 'float16', ['a', 'b', 'c']],
      ],
    },
    provider,
    async (session) => {
      const times: Record<string, Spread> = {};
      for (const rows of [1, 2, 4, 8, 16, 32]) {
        const halves = (dims: readonly number[]): Tensor => ({
          type: 'float16',
          data: new Uint16Array(dims.reduce((a, b) => a * b)).fill(0x3c00),
          dims,
        });
        const feeds = { sample: halves([rows, 4, 64, 64]), text: halves([rows, 77, 768]) };
        const taken: number[] = [];
        for (let i = 0; i < 60; i++) {
          const startedAt = performance.now();
          await session.run(feeds, ['out']);
          taken.push(performance.now() - startedAt);
        }
        times[rows] = spreadOf(taken.slice(10));
      }
      return times;
    },
  );

/** The first run of a row count that is not on the ladder, later ones, and the padded ones that the engine makes of it. */
export async function offLadder(folder: string, provider: Provider, side: number): Promise<object> {
  const model = await openDiffusionModel(folder, onnxRuntime, { providers: [provider] });
  const size = { width: side / 8, height: side / 8 };
  const row = probeRow(model.unet, size, model.tokenizer.maxTokens, 500);
  const results: Record<string, object> = {};
  const time = async (rows: number, padTo: number): Promise<number> => {
    const startedAt = performance.now();
    await model.unet.predict(new Array(rows).fill(row), size, padTo);
    return performance.now() - startedAt;
  };
  for (const [rows, rung] of [
    [3, 4],
    [5, 8],
    [7, 8],
    [11, 16],
  ]) {
    const firstPadded = await time(rows, rung);
    const padded = [];
    for (let i = 0; i < 5; i++) padded.push(await time(rows, rung));
    const first = await time(rows, rows);
    const exact = [];
    for (let i = 0; i < 5; i++) exact.push(await time(rows, rows));
    results[rows] = { rung, firstPadded, padded: spreadOf(padded), first, exact: spreadOf(exact) };
  }
  await model.close();
  return results;
}
