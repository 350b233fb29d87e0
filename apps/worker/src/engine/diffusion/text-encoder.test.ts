import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TinyDiffusionOptions, writeTinyDiffusion } from '@lehr/demo-models';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { onnxRuntime } from '../runtime/onnx.ts';
import type { RuntimeSession } from '../runtime/runtime.ts';
import type { Tensor } from '../runtime/tensor.ts';
import type { PromptEmbedding } from './conditioning.ts';
import { openClipTokenizer } from './folder/clip-tokenizer.ts';
import { TextEncoder, type TextEncoderOptions } from './text-encoder.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-text-encoder-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The text encoder of a tiny model, and the batch sizes of its runs. */
async function open(model: TinyDiffusionOptions = {}, options: TextEncoderOptions = {}) {
  await writeTinyDiffusion(folder, model);
  const path = join(folder, 'text_encoder/model.onnx');
  const session = await onnxRuntime.load({ path }, { providers: ['cpu'], threads: 1 });
  const tokenizer = await openClipTokenizer(join(folder, 'tokenizer'));
  const runs: number[] = [];
  const counted: RuntimeSession = {
    inputs: session.inputs,
    outputs: session.outputs,
    provider: session.provider,
    placement: undefined,
    refusals: [],
    close: () => session.close(),
    run: (feeds: Readonly<Record<string, Tensor>>, outputs) => {
      runs.push(feeds.input_ids.dims[0]);
      return session.run(feeds, outputs);
    },
  };
  return { encoder: new TextEncoder(counted, tokenizer, options), runs };
}

const differ = ({ hidden: a }: PromptEmbedding, { hidden: b }: PromptEmbedding) =>
  Math.max(...a.map((value, i) => Math.abs(value - b[i])));

test('Several prompts share one run, and each gets its own embedding', async () => {
  const { encoder, runs } = await open();
  const [cat, dog, again] = await encoder.encode(['a cat', 'a dog', 'a cat']);
  expect(runs).toEqual([2]);
  expect(cat.hidden).toHaveLength(77 * 32);
  expect(again).toBe(cat);
  expect(differ(cat, dog)).toBeGreaterThan(0.1);
  const alone = (await (await open()).encoder.encode(['a dog']))[0];
  expect(differ(dog, alone)).toBeLessThanOrEqual(1e-6);
});

test('A cached prompt needs no run', async () => {
  const { encoder, runs } = await open();
  const [first] = await encoder.encode(['a cat']);
  const [second] = await encoder.encode(['a cat']);
  expect(second).toBe(first);
  await encoder.encode(['a cat', 'a boat']);
  expect(runs).toEqual([1, 1]);
});

test('A prompt that is longer than the encoder reads says so, also when it comes from the cache', async () => {
  const { encoder } = await open();
  const long = 'cat '.repeat(100);
  const embeddings = await encoder.encode(['cat '.repeat(75), long]);
  expect(embeddings.map(({ cut }) => cut)).toEqual([undefined, { read: 77, tokens: 102 }]);
  expect((await encoder.encode([long]))[0].cut).toEqual({ read: 77, tokens: 102 });
  expect((await encoder.encode(['cat '.repeat(2000)]))[0].cut).toEqual({ read: 77 });
});

test('The cache keeps the most recently used prompts', async () => {
  const { encoder, runs } = await open({}, { cacheBytes: 2 * 77 * 32 * 4 });
  await encoder.encode(['cat']);
  await encoder.encode(['dog']);
  await encoder.encode(['cat']);
  await encoder.encode(['bird']);
  expect(runs).toEqual([1, 1, 1]);
  await encoder.encode(['cat']);
  expect(runs).toHaveLength(3);
  await encoder.encode(['dog']);
  expect(runs).toHaveLength(4);
});

test('More prompts than fit into one run take several, even if the cache is too small for any of them', async () => {
  const { encoder, runs } = await open({}, { cacheBytes: 10 });
  const prompts = Array.from({ length: 18 }, (_, i) => `cat number ${i}`);
  const embeddings = await encoder.encode(prompts);
  expect(runs).toEqual([16, 2]);
  expect(new Set(embeddings.map(({ hidden }) => hidden.join())).size).toBe(18);
});

test.each([
  { tokenIdType: 'int32', dtype: 'float32' },
  { tokenIdType: 'int64', dtype: 'float16' },
] as const)('Token ids and floats have the types that the graph declares: %o', async (model) => {
  const exact = (await (await open()).encoder.encode(['a red cat']))[0];
  const [embedding] = await (await open(model)).encoder.encode(['a red cat']);
  expect(differ(embedding, exact)).toBeLessThanOrEqual(model.dtype === 'float16' ? 0.02 : 1e-6);
});

const weighted = (text: string, clipSkip?: number) =>
  ({ text, syntax: 'weighted', clipSkip, field: 'negative_prompt' }) as const;

test('The cache knows a prompt by its syntax too', async () => {
  const { encoder, runs } = await open();
  const [plain, emphasized] = await encoder.encode(['(cat)', weighted('(cat)')]);
  expect(differ(plain, emphasized)).toBeGreaterThan(0.01);
  expect(await encoder.encode([weighted('(cat)'), '(cat)'])).toEqual([emphasized, plain]);
  expect(runs).toEqual([2]);
});

test('A weighted prompt is read to its end, and says of how many tokens and chunks it is', async () => {
  const { encoder, runs } = await open();
  const long = weighted('cat '.repeat(100));
  const [embedding] = await encoder.encode([long]);
  expect(embedding.hidden).toHaveLength(2 * 77 * 32);
  expect([embedding.cut, embedding.size]).toEqual([undefined, { tokens: 100, chunks: 2 }]);
  expect(encoder.measure([long])).toEqual([{ cut: undefined, size: { tokens: 100, chunks: 2 } }]);
  expect(runs).toEqual([2]);
});

test('A prompt of more chunks than are allowed is refused, and its field is named', async () => {
  const { encoder } = await open();
  const text = weighted('cat '.repeat(8 * 75 + 1));
  await expect(encoder.encode([text])).rejects.toMatchObject({
    code: 'invalid-input',
    problems: [{ pointer: '/input/negative_prompt', detail: 'is longer than 8 chunks of 75 tokens' }],
  });
  await expect(encoder.encode([weighted('cat '.repeat(76))], { maxChunks: 1 })).rejects.toThrow(
    'the UNet graph of this model was exported for one chunk alone',
  );
  await expect(encoder.encode([weighted('x'.repeat(30_000))])).rejects.toThrow('is longer than 8 chunks');
});

test('Weights that make values too large for a model are an error of their prompt, and not of the model or the device', async () => {
  const { encoder } = await open();
  const nines = '9'.repeat(400);
  for (const text of [`(cat:${nines})`, `((cat:${nines}):0)`, `(cat:${'9'.repeat(36)}) [dog:-1]`]) {
    await expect(encoder.encode(['a boat', weighted(text)])).rejects.toMatchObject({
      code: 'invalid-input',
      problems: [{ pointer: '/input/negative_prompt', detail: expect.stringContaining('weights') }],
    });
  }
  const [embedding] = await encoder.encode([weighted(`${'('.repeat(100)}cat`)]);
  expect(embedding.hidden.every(Number.isFinite)).toBe(true);
});
