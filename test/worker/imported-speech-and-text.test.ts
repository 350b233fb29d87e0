/** Files of weights of transformers (`model.safetensors`), imported into exports of the same models. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import { openTextModel } from '../../apps/worker/src/engine/text/folder/text-folder.ts';
import { memorySource, readSafetensors } from '../../packages/onnx-model/src/index.ts';
import { below, imported, readTensors, writeTensors } from '../support/imported-model.ts';
import { unpackTextFixture } from '../support/text-fixtures.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { openWhisperEngine } from '../support/whisper-engine.ts';
import { recorded, unpackExport, windowOf } from '../support/whisper-exports.ts';

async function importedText(base: string, path: string) {
  const { folder, plan, graphs } = await imported(base, path, { task: 'text' });
  return { folder, unused: plan.unused, weights: new Set(graphs.map(({ weights }) => weights)) };
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
async function restored(base: string, path: string, unused: readonly string[] = []) {
  const first = await importedText(base, path);
  // Each weight that was found has the bytes that the exporter gave it there, and no other weight of the file was left over.
  expect(first).toMatchObject({ unused, weights: new Set(['equal']) });
  const other = await importedText(base, await halved(path));
  expect(other).toMatchObject({ unused, weights: new Set(['written']) });
  const back = await importedText(other.folder, path);
  expect(back).toMatchObject({ unused, weights: new Set(['written']) });
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

test('MiniLM with the weights of a file as the hub has it gives the vectors of its own export', async () => {
  const [base, bert] = [await tempFolder('base'), await tempFolder('bert')];
  unpackTextFixture('bert-sentences', base);
  // Both fixtures have one encoder.
  unpackTextFixture('bert-fill-mask', bert);
  const own = below('bert.', await readTensors(join(bert, 'model.safetensors')));
  // Not in the graph, and in the file of the hub all the same.
  const extra = [
    { name: 'embeddings.position_ids', dtype: 'I64', shape: [1, 64], bytes: Buffer.alloc(512) },
    { name: 'pooler.dense.bias', dtype: 'F32', shape: [32], bytes: Buffer.alloc(128) },
    { name: 'pooler.dense.weight', dtype: 'F32', shape: [32, 32], bytes: Buffer.alloc(4096) },
  ] as const;
  const unused = extra.map(({ name }) => name);
  const { other, back } = await restored(base, await writeTensors([...own, ...extra], 'model'), unused);
  const states = async (folder: string) => {
    const model = await openTextModel(folder, onnxRuntime, { providers: ['cpu'] });
    onTestFinished(() => model.close());
    const text = model.encode('a red circle', 'text-embedding', { mayTruncate: false });
    return model.graph.run([text], ['last_hidden_state']);
  };
  const wanted = await states(base);
  expect(await states(back)).toEqual(wanted);
  expect(await states(other)).not.toEqual(wanted);
});

test('A base in int8 is refused, because its weights are integers', async () => {
  const [base, weights] = [await tempFolder('base'), await tempFolder('weights')];
  unpackExport('int8', base);
  unpackExport('weights', weights);
  await expect(importedText(base, join(weights, 'model.safetensors'))).rejects.toThrow(
    'cannot be imported like base@1, whose graphs are in int8',
  );
});
