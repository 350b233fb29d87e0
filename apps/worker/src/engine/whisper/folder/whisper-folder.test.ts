import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TinyWhisperOptions, writeTinyWhisper } from '@lehr/demo-models';
import { decode, encode, type GraphProto, type ModelProto } from '@lehr/onnx-model';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { onnxRuntime } from '../../runtime/onnx.ts';
import type { InferenceRuntime } from '../../runtime/runtime.ts';
import { openWhisperModel, type WhisperModel, type WhisperOptions } from './whisper-folder.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-whisper-folder-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const CPU: WhisperOptions = { providers: ['cpu'], threads: 1 };
const open = (options = CPU, runtime: InferenceRuntime = onnxRuntime): Promise<WhisperModel> =>
  openWhisperModel(folder, runtime, options);

function editJson(name: string, change: (json: Record<string, unknown>) => void): void {
  const path = join(folder, name);
  const json = JSON.parse(readFileSync(path, 'utf8'));
  change(json);
  writeFileSync(path, JSON.stringify(json));
}

function editDecoder(change: (model: ModelProto, cached: GraphProto) => void): void {
  const path = join(folder, 'decoder_model_merged.onnx');
  const model = decode('ModelProto', readFileSync(path));
  const branches = model.graph?.node?.find(({ opType }) => opType === 'If')?.attribute;
  const cached = branches?.find(({ name }) => name === 'then_branch')?.g;
  if (!cached) throw new Error('Wanted a merged decoder.');
  change(model, cached);
  writeFileSync(path, encode('ModelProto', model));
}

const mel = ({ frontEnd }: WhisperModel, phase = 0): Float32Array =>
  Float32Array.from({ length: frontEnd.melBins * frontEnd.windowFrames }, (_, i) => Math.sin(i * i + phase));

/** Greedy tokens of two windows with different prompts, in one batch if the model allows it. */
async function write(model: WhisperModel, count: number): Promise<number[][]> {
  const { decoder, encoder, tokenizer } = model;
  const prompts = [
    [tokenizer.special.start],
    [tokenizer.special.startOfPrevious, 5, tokenizer.special.start],
  ];
  const written: number[][] = [[], []];
  const groups = decoder.batching.mode === 'rows' ? [[0, 1]] : [[0], [1]];
  const best = (logits: Float32Array): number => logits.indexOf(Math.max(...logits));
  for (const group of groups) {
    const batch = decoder.newBatch();
    for (const row of group) {
      const [features] = await encoder.encode([mel(model, row)], decoder.sizes.floatType);
      const started = await decoder.start([prompts[row]], [features]);
      written[row].push(best(started.logits(0, prompts[row].length - 1)));
      batch.push(started.state(0));
    }
    for (let i = 1; i < count; i++) {
      const logits = await decoder.step(
        batch,
        group.map((row) => written[row].at(-1) ?? 0),
      );
      batch.advance();
      for (const [i, row] of group.entries()) written[row].push(best(logits[i]));
    }
  }
  return written;
}

const variants: readonly (TinyWhisperOptions & { readonly note: string })[] = [
  { note: 'merged' },
  { note: 'merged, newer exporter', style: 'transformers-4.48' },
  { note: 'split', decoder: 'split' },
  { note: 'split, newer exporter, onnx/', decoder: 'split', style: 'transformers-4.48', graphs: 'onnx' },
  { note: 'half precision', dtype: 'float16', variant: '_fp16' },
  { note: 'half precision, newer exporter', dtype: 'float16', style: 'transformers-4.48' },
  { note: 'weights beside the graphs', externalData: true, crossAttentions: true },
];

test.each(variants)(
  'A folder opens, and rows of different lengths share decoder calls: $note',
  async (options) => {
    await writeTinyWhisper(folder, options);
    const model = await open({ ...CPU, ...(options.variant && { variant: options.variant }) });
    expect(model.decoder.batching).toEqual({ mode: 'rows' });
    expect(model.frontEnd).toEqual({
      sampleRate: 16_000,
      melBins: 80,
      fftSize: 400,
      hopLength: 160,
      windowSamples: 32_000,
      windowFrames: 200,
    });
    expect(model.decoder.sizes).toMatchObject({ layers: 2, heads: 2, headSize: 16, maxTokens: 96 });
    expect(model.graphs.map(({ graph, provider }) => `${graph} on ${provider}`)).toEqual([
      'encoder on cpu',
      'decoder on cpu',
      ...(options.decoder === 'split' ? ['decoder_with_past on cpu'] : []),
    ]);
    expect(model.alignment?.heads).toEqual(
      options.crossAttentions
        ? [
            [0, 0],
            [1, 0],
          ]
        : undefined,
    );
    await model.close();
    await expect(model.encoder.encode([mel(model)], 'float32')).rejects.toThrow('was closed');
  },
);

test('All layouts and exporters give the same text with the same weights', async () => {
  const texts: number[][][] = [];
  for (const { note, ...options } of variants.filter(({ dtype }) => dtype === undefined)) {
    rmSync(folder, { recursive: true });
    await writeTinyWhisper(folder, options);
    const model = await open();
    texts.push(await write(model, 40));
    await model.close();
    expect(texts.at(-1), note).toEqual(texts[0]);
  }
  expect(texts[0][0]).not.toEqual(texts[0][1]);
  expect(new Set(texts[0][0]).size).toBeGreaterThan(5);
});

test('An English-only folder has no languages', async () => {
  await writeTinyWhisper(folder, { languages: [] });
  const model = await open();
  expect(model.tokenizer.special.multilingual).toBeUndefined();
  await model.close();
});

const twoReaders = (cached: GraphProto): void => {
  const slice = cached.node?.find(({ opType, input }) => opType === 'Slice' && input?.[0]?.includes('embed'));
  cached.node?.push({ ...slice, name: 'again', output: ['again'] });
};

test('conditionsOnPrevious is true unless the folder says no', async () => {
  await writeTinyWhisper(folder);
  const byDefault = await open();
  expect(byDefault.conditionsOnPrevious).toBe(true);
  await byDefault.close();
  editJson('generation_config.json', (json) => {
    json.condition_on_prev_tokens = false;
  });
  const switchedOff = await open();
  expect(switchedOff.conditionsOnPrevious).toBe(false);
  await switchedOff.close();
});

test('A graph that cannot be rewired runs aligned, with the reason', async () => {
  await writeTinyWhisper(folder);
  editDecoder((_, cached) => twoReaders(cached));
  const model = await open();
  expect(model.decoder.batching).toEqual({
    mode: 'aligned',
    reason: 'its positions are picked from a table in 2 places, wanted one',
  });
  await model.close();
});

const nonsense: readonly [string, (cached: GraphProto) => void][] = [
  [
    'a past that comes twice',
    ({ node }) => {
      const concat = node?.find(({ opType, input }) => opType === 'Concat' && input?.[0]?.startsWith('past'));
      concat?.input?.push(concat.input[0]);
    },
  ],
  [
    'attention without a softmax',
    ({ node }) => {
      for (const each of node ?? []) if (each.opType === 'Softmax') each.opType = 'LogSoftmax';
    },
  ],
];

test.each(nonsense)(
  'A graph whose results differ when a text is read in pieces is refused: %s',
  async (_, change) => {
    await writeTinyWhisper(folder);
    editDecoder((_model, cached) => change(cached));
    await expect(open()).rejects.toMatchObject({
      code: 'model-unavailable',
      message: expect.stringContaining('decoder_model_merged.onnx cannot be used'),
    });
  },
);

test('A graph that cannot be rewired writes the same text in aligned batches', async () => {
  await writeTinyWhisper(folder);
  const rows = await open();
  const wanted = await write(rows, 40);
  await rows.close();
  editDecoder((_, cached) => twoReaders(cached));
  const aligned = await open();
  expect(aligned.decoder.batching.mode).toBe('aligned');
  expect(await write(aligned, 40)).toEqual(wanted);
  await aligned.close();
});

test('A rewired graph that mixes rows up fails the check and runs aligned', async () => {
  await writeTinyWhisper(folder);
  // Uses position and mask of the first row for all rows: shapes fit, results do not.
  editDecoder((_, cached) => {
    const add = cached.node?.find(
      ({ opType, input }) => opType === 'Add' && input?.[1]?.startsWith('/Slice'),
    );
    const index = cached.node?.indexOf(add ?? {}) ?? -1;
    const zero = { dims: [1], dataType: 7, int64Data: [0] };
    cached.node?.splice(
      index,
      0,
      { opType: 'Constant', output: ['zero'], attribute: [{ name: 'value', type: 4, t: zero }] },
      { opType: 'Gather', input: [add?.input?.[1] ?? '', 'zero'], output: ['first'] },
    );
    add?.input?.splice(1, 1, 'first');
  });
  const model = await open();
  expect(model.decoder.batching).toEqual({
    mode: 'aligned',
    reason: expect.stringContaining('differs from the same text read at once'),
  });
  await model.close();
});

const broken: readonly [string, () => void, string | RegExp][] = [
  ['no config', () => rmSync(join(folder, 'config.json')), 'config.json could not be read'],
  [
    'another kind of model',
    () => editJson('config.json', (json) => Object.assign(json, { model_type: 'bart' })),
    /config\.json.*model_type/,
  ],
  [
    'a window that does not fit the encoder',
    () => editJson('preprocessor_config.json', (json) => Object.assign(json, { chunk_length: 3 })),
    'makes windows of 300 frames; its config.json wants 200',
  ],
  [
    'mel bins of another model',
    () => editJson('preprocessor_config.json', (json) => Object.assign(json, { feature_size: 128 })),
    'makes windows of 128 mel bins; its config.json wants 80',
  ],
  [
    'a config that contradicts its graph',
    () => editJson('config.json', (json) => Object.assign(json, { d_model: 64 })),
    'has 32 along axis 2, but its config.json says 64',
  ],
  [
    'fewer layers than the graph',
    () => editJson('config.json', (json) => Object.assign(json, { decoder_layers: 1 })),
    'it has more layers than the 1 of config.json',
  ],
  ['no encoder', () => rmSync(join(folder, 'encoder_model.onnx')), 'encoder_model.onnx'],
  [
    'no decoder',
    () => rmSync(join(folder, 'decoder_model_merged.onnx')),
    'no pair of decoder_model and decoder_with_past_model',
  ],
  [
    'half of a split decoder',
    () => renameSync(join(folder, 'decoder_model_merged.onnx'), join(folder, 'decoder_model.onnx')),
    'no pair of decoder_model and decoder_with_past_model',
  ],
  ['no tokenizer', () => rmSync(join(folder, 'tokenizer.json')), 'tokenizer.json could not be read'],
  [
    'an unknown input',
    () =>
      editDecoder(({ graph }) => {
        const first = graph?.input?.[0];
        graph?.input?.push({ ...first, name: 'speaker_id' });
      }),
    'wants an input "speaker_id" that Lehr does not know',
  ],
];

/** A runtime that counts its open sessions. */
function counting(): { readonly runtime: InferenceRuntime; readonly open: () => number } {
  let openSessions = 0;
  return {
    open: () => openSessions,
    runtime: {
      async load(graph, options) {
        const session = await onnxRuntime.load(graph, options);
        openSessions += 1;
        let isOpen = true;
        return {
          provider: session.provider,
          placement: session.placement,
          refusals: session.refusals,
          inputs: session.inputs,
          outputs: session.outputs,
          run: (feeds, outputs) => session.run(feeds, outputs),
          close: async () => {
            if (isOpen) openSessions -= 1;
            isOpen = false;
            await session.close();
          },
        };
      },
    },
  };
}

test.each(broken)(
  'A broken folder is refused with the reason, and no session stays loaded: %s',
  async (_name, damage, message) => {
    await writeTinyWhisper(folder);
    damage();
    const { runtime, open: openSessions } = counting();
    const error = await open(CPU, runtime).catch((reason) => reason);
    expect(error).toMatchObject({ code: 'model-unavailable' });
    expect(error.message).toMatch(message);
    expect(openSessions()).toBe(0);
  },
);

test('A variant is only the suffix of a file name and cannot lead out of the folder', async () => {
  await writeTinyWhisper(folder);
  for (const variant of ['/../other', '_../x', 'fp16', '_FP16']) {
    await expect(open({ ...CPU, variant })).rejects.toMatchObject({ code: 'model-unavailable' });
  }
});
