/** Exports of Whisper large-v3's smaller forms in the layout of onnx-community: 128 mel bins, 51,866 tokens, a smaller decoder. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import { largestDifference } from '../../apps/worker/src/engine/runtime/tensor.ts';
import { openWhisperModel } from '../../apps/worker/src/engine/whisper/folder/whisper-folder.ts';
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
  const ours = v3Mel({ abilities: { frontEnd } } as never, recordedV3.cases[0].sample);
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
