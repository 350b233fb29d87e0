/** What ONNX Runtime fuses by itself, and Lehr therefore does not: docs/tuning.md. A new version that stops doing it is noticed here. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import { decode } from '../../packages/onnx-model/src/index.ts';
import { unpackFixture } from '../support/diffusion-fixtures.ts';
import { unpackTextFixture } from '../support/text-fixtures.ts';
import { tempFolder } from '../support/tiny-models.ts';

/** How many nodes of each operator the graph has as it runs. */
async function operatorsOf(path: string): Promise<Record<string, number>> {
  const optimized = `${path}.optimized`;
  const session = await onnxRuntime.load(
    { path },
    { providers: ['cpu'], threads: 1, saveOptimized: optimized },
  );
  await session.close();
  const counts: Record<string, number> = {};
  for (const { opType } of decode('ModelProto', readFileSync(optimized)).graph?.node ?? [])
    counts[opType ?? ''] = (counts[opType ?? ''] ?? 0) + 1;
  return counts;
}

test('ONNX Runtime fuses the GELU of a text model with its bias beside the attentions that Lehr fuses', async () => {
  const folder = await tempFolder('own-fusions');
  unpackTextFixture('bert-sentences', folder);
  const operators = await operatorsOf(join(folder, 'model.onnx'));
  expect(operators).toMatchObject({ MultiHeadAttention: 2, BiasGelu: 2, LayerNormalization: 5 });
  expect(operators).not.toHaveProperty('Erf');
});

test('ONNX Runtime fuses SiLU and GELU of a UNet, and the activation of CLIP', async () => {
  const folder = await tempFolder('own-fusions');
  unpackFixture('sd15', folder);
  const unet = await operatorsOf(join(folder, 'unet/model.onnx'));
  expect(unet).toMatchObject({ MultiHeadAttention: 32, QuickGelu: 47, Gelu: 16 });
  expect(unet).not.toHaveProperty('Sigmoid');
  expect(await operatorsOf(join(folder, 'text_encoder/model.onnx'))).toMatchObject({ QuickGelu: 12 });
});
