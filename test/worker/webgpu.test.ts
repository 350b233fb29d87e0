/**
 * Real WebGPU sessions of ONNX Runtime, on a Vulkan driver that computes on the CPU. They show what Lehr makes of a provider that
 * is not the CPU: where nodes ran, what it draws, and how running out of memory looks. They show nothing about speed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import type { Provider, RuntimeSession } from '../../apps/worker/src/engine/runtime/runtime.ts';
import { differenceOf } from '../../lab/device/figures.ts';
import { openPictureEngine, type PictureEngine, pixelsOf } from '../../lab/device/picture-engine.ts';
import { type SmallGraph, writeGraph } from '../../lab/device/small-graphs.ts';
import { writeTinyDiffusion } from '../../packages/demo-models/src/index.ts';
import { hasSoftwareVulkan, useSoftwareVulkan } from '../support/software-vulkan.ts';

beforeAll(useSoftwareVulkan);
const withVulkan = test.skipIf(!hasSoftwareVulkan);

async function tempFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-webgpu-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function load(graph: SmallGraph, providers: readonly Provider[] = ['webgpu']): Promise<RuntimeSession> {
  const path = join(await tempFolder(), 'model.onnx');
  await writeGraph(path, graph);
  const session = await onnxRuntime.load({ path }, { providers });
  onTestFinished(() => session.close());
  return session;
}

/** Repeats `x` in so many rows, doubles them, and returns the largest value. */
const repeated: SmallGraph = {
  nodes: [
    { opType: 'Expand', input: ['x', 'shape'], output: ['rows'] },
    { opType: 'Add', input: ['rows', 'rows'], output: ['doubled'] },
    { opType: 'ReduceMax', input: ['doubled'], output: ['y'] },
  ],
  inputs: [
    ['x', 'float32', ['n']],
    ['shape', 'int64', [2]],
  ],
  outputs: [['y', 'float32', ['a', 'b']]],
};

async function repeat(session: RuntimeSession, rows: number): Promise<readonly number[]> {
  const { y } = await session.run({
    x: { type: 'float32', data: Float32Array.of(1, 2, 3, 4), dims: [4] },
    shape: { type: 'int64', data: BigInt64Array.of(BigInt(rows), 4n), dims: [2] },
  });
  return [...(y.data as Float32Array)];
}

withVulkan('A session reports that its nodes ran on WebGPU', async () => {
  const session = await load(repeated, ['webgpu', 'cpu']);
  expect(session.provider).toBe('webgpu');
  expect(await repeat(session, 3)).toEqual([8]);
  expect(session.placement?.webgpu).toBeGreaterThan(0);
});

withVulkan('A session is refused when its only node ran on the CPU', async () => {
  const session = await load({
    nodes: [{ opType: 'Unique', input: ['x'], output: ['y'] }],
    inputs: [['x', 'float32', ['n']]],
    outputs: [['y', 'float32', ['m']]],
  });
  const x = { type: 'float32', data: Float32Array.of(1, 1, 2), dims: [3] } as const;
  await expect(session.run({ x })).rejects.toMatchObject({
    code: 'model-unavailable',
    message: expect.stringMatching(/none of its nodes ran there \(1 on cpu\)/),
  });
});

withVulkan.each([
  ['more than one buffer can hold', 2 ** 27],
  ['more than the driver allocates', 2 ** 26],
])('A tensor of %s is out-of-memory, and the session still works', async (_name, rows) => {
  const session = await load(repeated);
  await expect(repeat(session, rows)).rejects.toMatchObject({ code: 'out-of-memory' });
  expect(await repeat(session, 3)).toEqual([8]);
});

withVulkan(
  'Pictures on WebGPU are those of the CPU, and in a batch have the same bytes as alone',
  { tags: ['long'] },
  async () => {
    const folder = await tempFolder();
    await writeTinyDiffusion(folder, { seed: 5, timestepType: 'float32' });
    const open = async (provider: Provider): Promise<PictureEngine> => {
      const engine = await openPictureEngine({ folder, providers: [provider], rowCap: 3, side: 64 });
      onTestFinished(() => engine.close());
      return engine;
    };
    const [device, cpu] = [await open('webgpu'), await open('cpu')];
    expect(device.opened.batching).toBe('step');
    const request = { width: 64, height: 64, sampler: 'ddim' } as const;
    const requests = [
      { ...request, steps: 2, guidance: 5, seed: 1 },
      { ...request, steps: 3, guidance: 1, seed: 2 },
    ];
    const together = (await device.draw(requests)).map(pixelsOf);
    expect(Math.max(...device.steps.map(({ rows }) => rows))).toBe(3);
    for (const [i, each] of requests.entries()) {
      const [alone, wanted] = [await device.draw([each]), await cpu.draw([each])].map(([end]) =>
        pixelsOf(end),
      );
      expect(together[i]).toEqual(alone);
      // Of 255: other order of the sums.
      expect(differenceOf(alone, wanted).largest).toBeLessThanOrEqual(2);
    }
  },
);
