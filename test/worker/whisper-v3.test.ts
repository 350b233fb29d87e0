/** Exports of Whisper large-v3's smaller forms in the layout of onnx-community: 128 mel bins, 51,866 tokens, a smaller decoder. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import { largestDifference } from '../../apps/worker/src/engine/runtime/tensor.ts';
import { openWhisperModel } from '../../apps/worker/src/engine/whisper/folder/whisper-folder.ts';
import { taskTokens } from '../../apps/worker/src/engine/whisper/special-tokens.ts';
import { alignWords } from '../../apps/worker/src/engine/whisper/word-times.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { openWhisperEngine } from '../support/whisper-engine.ts';
import {
  recordedFeatures,
  recordedV3,
  unpackV3,
  type V3Repository,
  v3Mel,
  v3Window,
} from '../support/whisper-v3.ts';

const CPU = { providers: ['cpu'], threads: 1 } as const;
const SUFFIXES = ['', '_fp16', '_quantized', '_q4', '_q4f16', '_bnb4'];

async function unpacked(repository: V3Repository = 'turbo', suffix = ''): Promise<string> {
  const folder = join(await tempFolder('whisper-v3'), repository);
  unpackV3(repository, [suffix], folder);
  return folder;
}

async function openModel(folder: string, variant = '') {
  const model = await openWhisperModel(folder, onnxRuntime, { ...CPU, variant });
  onTestFinished(() => model.close());
  return model;
}

async function openEngine(folder: string, variant = '') {
  const engine = await openWhisperEngine(folder, { rowCap: 16, threads: 1, variant });
  onTestFinished(() => engine.close());
  return engine;
}

test("The log-mel of 128 bins is that of transformers' WhisperFeatureExtractor", async () => {
  const { frontEnd } = await openModel(await unpacked());
  expect(frontEnd.melBins).toBe(128);
  const ours = v3Mel({ abilities: { frontEnd } }, recordedV3.cases[0].sample);
  const theirs = recordedFeatures();
  expect(ours.length).toBe(theirs.length);
  expect(largestDifference(ours, theirs)).toBeLessThan(1e-4);
});

test('The tokens after the hundredth language have the ids of large-v3', async () => {
  const { tokenizer } = await openModel(await unpacked());
  expect(tokenizer.special).toMatchObject({
    end: 50257,
    start: 50258,
    startOfPrevious: 50362,
    noSpeech: 50363,
    noTimestamps: 50364,
    timestampBegin: 50365,
    multilingual: { translate: 50359, transcribe: 50360 },
  });
  expect(tokenizer.special.multilingual?.languages.get('yue')).toBe(50358);
  expect(tokenizer.special.multilingual?.languages.size).toBe(100);
});

test('Windows in one batch get the tokens that PyTorch writes for each alone, in Cantonese too', async () => {
  const engine = await openEngine(await unpacked());
  const results = await engine.write(recordedV3.cases.map((each) => v3Window(engine, each)));
  expect(results.map(({ tokens }) => tokens)).toEqual(recordedV3.cases.map(({ tokens }) => tokens));
  expect(Math.max(...results.map(({ batchSize }) => batchSize))).toBeGreaterThan(4);
});

test('The language is detected among all hundred, as transformers detects it', async () => {
  const engine = await openEngine(await unpacked());
  const samples = Object.keys(recordedV3.languages);
  const windows = samples.map((sample) => ({ mel: v3Mel(engine, sample), language: null, maxTokens: 1 }));
  const results = await engine.write(windows);
  expect(results.map(({ language }) => language)).toEqual(Object.values(recordedV3.languages));
});

test.each(SUFFIXES)(
  'The graphs%s are rewired, so that rows of different lengths share calls',
  async (suffix) => {
    const model = await openModel(await unpacked('turbo', suffix), suffix);
    expect(model.decoder.batching).toEqual({ mode: 'rows' });
  },
);

/** In lower precisions a close decision can fall differently on another machine, and all later tokens with it. */
const FIRST_TOKENS = 4;

for (const suffix of SUFFIXES.slice(1))
  test(`Windows of the graphs${suffix} begin with the tokens of PyTorch, or with those of Optimum with the same graphs`, {
    tags: ['_fp16', '_q4'].includes(suffix) ? [] : ['long'],
  }, async () => {
    const engine = await openEngine(await unpacked('turbo', suffix), suffix);
    const begin = (tokens: readonly number[]): string => tokens.slice(0, FIRST_TOKENS).join();
    let equal = 0;
    for (const [i, each] of recordedV3.cases.entries()) {
      // Alone: quantized graphs may round by the largest value of a batch.
      const [{ tokens }] = await engine.write([v3Window(engine, each)]);
      if (begin(tokens) === begin(recordedV3.precisions[suffix.slice(1)][i])) equal += 1;
    }
    // With random weights the rounding of the log-mel alone changes what int8 graphs write.
    const least = suffix === '_quantized' ? 0.5 : 0.75;
    expect(equal).toBeGreaterThanOrEqual(least * recordedV3.cases.length);
  });

test('The export with cross-attentions times words as openai-whisper does', async () => {
  const model = await openModel(await unpacked('turbo_timestamped'));
  const { tokenizer, frontEnd } = model;
  const mel = v3Mel({ abilities: { frontEnd } }, recordedV3.cases[0].sample);
  const [features] = await model.encoder.encode([mel], model.decoder.sizes.floatType);
  for (const { language, tokens, words } of recordedV3.words) {
    const options = { language, translate: false, timestamps: true };
    const [timed] = await alignWords(model, {
      features,
      contentFrames: frontEnd.windowFrames,
      language,
      prompt: [tokenizer.special.start, ...taskTokens(tokenizer.special, options)],
      segments: [{ start: 0, end: 2, text: '', tokens }],
    });
    const rounded = timed.map((each) => ({
      ...each,
      start: hundredths(each.start),
      end: hundredths(each.end),
    }));
    expect(rounded).toEqual(words);
  }
});

test('The export with cross-attentions in half precision times words too', async () => {
  const model = await openModel(await unpacked('turbo_timestamped', '_fp16'), '_fp16');
  expect(model.decoder.batching).toEqual({ mode: 'rows' });
  expect(model.alignment?.heads).toEqual([
    [1, 0],
    [1, 1],
  ]);
});

const hundredths = (seconds: number): number => Math.round(seconds * 100) / 100;

test('Alignment heads of a larger decoder, as distilled models keep them, give way to those of the later layers', async () => {
  const folder = await unpacked('turbo_timestamped');
  const file = join(folder, 'generation_config.json');
  const large = [
    [0, 1],
    [7, 0],
    [25, 6],
  ];
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), alignment_heads: large }));
  const { alignment } = await openModel(folder);
  expect(alignment?.heads).toEqual([
    [1, 0],
    [1, 1],
  ]);
});

test('Without cross-attentions, times of words are refused', async () => {
  const engine = await openEngine(await unpacked());
  expect(engine.abilities.timesWords).toBe(false);
  const window = { ...v3Window(engine, recordedV3.cases[0]), timestamps: 'word' as const };
  await expect(engine.write([window])).rejects.toThrow('this model was exported without cross-attentions');
});
