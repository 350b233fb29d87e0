/** Files of weights of transformers (`model.safetensors`), imported into exports of the same models. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { filesOfModel, importFolder } from '../../apps/worker/src/engine/models/imported/import-folder.ts';
import { planImport } from '../../apps/worker/src/engine/models/imported/plan-import.ts';
import { openWeightsFile } from '../../apps/worker/src/engine/models/imported/weights-file.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import { openTextModel } from '../../apps/worker/src/engine/text/folder/text-folder.ts';
import { memorySource, readSafetensors } from '../../packages/onnx-model/src/index.ts';
import { unpackTextFixture } from '../support/text-fixtures.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { openWhisperEngine } from '../support/whisper-engine.ts';
import { recorded, unpackExport, windowOf } from '../support/whisper-exports.ts';

async function imported(base: string, path: string) {
  const file = openWeightsFile(path);
  try {
    const from = { folder: base, name: 'base@1', task: 'text' } as const;
    const graphs = (await filesOfModel(base)).filter((each) => each.endsWith('.onnx'));
    const plan = await planImport(from, graphs, file);
    const folder = await tempFolder('made');
    const made = await importFolder({ base: from, plan, file, folder, onProgress: () => {} });
    return { folder, unused: plan.unused, weights: new Set(made.graphs.map(({ weights }) => weights)) };
  } finally {
    file.close();
  }
}

/** The file with every value halved: a model with the same names and shapes that writes something else. */
async function halved(path: string): Promise<string> {
  const bytes = new Uint8Array(await readFile(path));
  for (const { offset, length } of readSafetensors(memorySource(bytes)).tensors.values()) {
    const view = new DataView(bytes.buffer, offset, length);
    for (let at = 0; at < length; at += 4) view.setFloat32(at, view.getFloat32(at, true) / 2, true);
  }
  const other = `${path}.halved`;
  await writeFile(other, bytes);
  return other;
}

/** A model that had other weights, after the import of those that its export had at first. */
async function restored(base: string, path: string) {
  const first = await imported(base, path);
  // Each weight that was found has the bytes that the exporter gave it there, and no weight of the file was left over.
  expect(first).toMatchObject({ unused: [], weights: new Set(['equal']) });
  const other = await imported(base, await halved(path));
  expect(other).toMatchObject({ unused: [], weights: new Set(['written']) });
  const back = await imported(other.folder, path);
  expect(back).toMatchObject({ unused: [], weights: new Set(['written']) });
  return { other: other.folder, back: back.folder };
}

async function tokensOf(folder: string) {
  const engine = await openWhisperEngine(folder, { rowCap: 16, threads: 1 });
  onTestFinished(() => engine.close());
  const results = await engine.write(recorded.cases.map((each) => windowOf(engine, each)));
  return results.map(({ tokens }) => tokens);
}

test.each(['merged', 'pair'])(
  'Whisper of the form %s with the weights of a file writes what transformers writes with them',
  {
    timeout: 60_000,
  },
  async (form) => {
    const [base, weights] = [await tempFolder('base'), await tempFolder('weights')];
    unpackExport(form, base);
    unpackExport('weights', weights);
    const { other, back } = await restored(base, join(weights, 'model.safetensors'));
    const wanted = recorded.cases.map(({ tokens }) => tokens);
    expect(await tokensOf(other)).not.toEqual(wanted);
    expect(await tokensOf(back)).toEqual(wanted);
  },
);

test('BERT with the weights of a file, which leaves its tied projection out, answers as its own export', async () => {
  const base = await tempFolder('base');
  unpackTextFixture('bert-fill-mask', base);
  const { other, back } = await restored(base, join(base, 'model.safetensors'));
  const logits = async (folder: string) => {
    const model = await openTextModel(folder, onnxRuntime, { providers: ['cpu'] });
    onTestFinished(() => model.close());
    const text = model.encode('a [MASK] circle', 'fill-mask', { mayTruncate: false });
    return model.graph.run([text], ['logits']);
  };
  const wanted = await logits(base);
  expect(await logits(back)).toEqual(wanted);
  expect(await logits(other)).not.toEqual(wanted);
});

test('A base in int8 is refused, because its weights are integers', async () => {
  const [base, weights] = [await tempFolder('base'), await tempFolder('weights')];
  unpackExport('int8', base);
  unpackExport('weights', weights);
  await expect(imported(base, join(weights, 'model.safetensors'))).rejects.toThrow(
    'cannot be imported like base@1, whose graphs are in int8',
  );
});
