/** Half precision where the engine has Float16Array. In a separate process: ONNX Runtime looks for that array once. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DATA_TYPE, encode } from '@lehr/onnx-model';
import { expect, onTestFinished, test, vi } from 'vitest';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';

/** The global of Node 24. On an older Node a class that onnxruntime-common would choose as well, and that throws when it is used. */
const float16Array = vi.hoisted(() => {
  class Refusing {
    static readonly from = true;
    constructor() {
      throw new Error('a Float16Array was made');
    }
  }
  const world = globalThis as { Float16Array?: unknown };
  world.Float16Array ??= Refusing;
  return world.Float16Array;
});

test('Half precision keeps its bits in both directions where the engine has Float16Array', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lehr-onnx-half-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const value = (name: string) => ({
    name,
    type: { tensorType: { elemType: DATA_TYPE.float16, shape: { dim: [{ dimParam: 'n' }] } } },
  });
  const graph = {
    name: 'test',
    node: [{ opType: 'Neg', input: ['x'], output: ['y'] }],
    input: [value('x')],
    output: [value('y')],
  };
  const path = join(folder, 'model.onnx');
  const opsetImport = [{ domain: '', version: 14 }];
  writeFileSync(path, encode('ModelProto', { irVersion: 8, opsetImport, graph }));

  const session = await onnxRuntime.load({ path }, { providers: ['cpu'] });
  // A slice: the bytes before and after it must not be read.
  const bits = Uint16Array.of(0x7c00, 0x3c00, 0xc000, 0x7c00).subarray(1, 3);
  const { y } = await session.run({ x: { type: 'float16', data: bits, dims: [2] } });
  await session.close();
  expect(y).toEqual({ type: 'float16', data: Uint16Array.of(0xbc00, 0x4000), dims: [2] });
});

test('ONNX Runtime leaves the global Float16Array as it was', () => {
  expect(globalThis).toHaveProperty('Float16Array', float16Array);
});
