/** With the same graphs, the same audio and greedy decoding, Lehr in a batch writes the same tokens as transformers.js. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { logMelWindow } from '../../apps/worker/src/parent/audio/log-mel.ts';
import { demoModelsFile, writeTinyWhisper } from '../../packages/demo-models/src/index.ts';
import { plainWaveform, sampleFile } from '../support/audio-golden.ts';
import { Random } from '../support/random.ts';
import { openTransformersWhisper, type TransformersOptions } from '../support/transformers-whisper.ts';
import { openWhisperEngine, type WhisperEngine, type WindowInput } from '../support/whisper-engine.ts';

const INPUTS = 20;

interface Input extends WindowInput {
  readonly language: 'en' | 'es';
}

async function openBoth(folder: string, subfolder: TransformersOptions['subfolder']) {
  const lehr = await openWhisperEngine(folder, { rowCap: 8 });
  onTestFinished(() => lehr.close());
  const { melBins, windowFrames } = lehr.abilities.frontEnd;
  const transformers = await openTransformersWhisper(folder, { subfolder, melBins, windowFrames });
  onTestFinished(() => transformers.close());
  return { lehr, transformers };
}

/** The tokens of every input from both sides; Lehr gets all inputs at once. */
async function writeBoth(
  { lehr, transformers }: Awaited<ReturnType<typeof openBoth>>,
  inputs: readonly Input[],
  maxTokens: number,
): Promise<{ readonly ours: number[][]; readonly theirs: number[][] }> {
  const results = await lehr.write(inputs.map((input) => ({ ...input, maxTokens })));
  const theirs: number[][] = [];
  for (const { mel, language } of inputs) theirs.push(await transformers.write(mel, language, maxTokens));
  return { ours: results.map(({ tokens }) => [...tokens]), theirs };
}

/** Joins two waveforms with 0.2 s of silence between them. */
function joined(first: Float32Array, second: Float32Array): Float32Array {
  const gap = 3200;
  const whole = new Float32Array(first.length + gap + second.length);
  whole.set(first);
  whole.set(second, first.length + gap);
  return whole;
}

/** Six phrases and pairs of them, cut at the end of the window. */
function speechInputs({ abilities: { frontEnd } }: WhisperEngine): Input[] {
  const names = ['en_circle', 'en_fox', 'en_lighthouse', 'en_numbers', 'en_stars', 'es_circulo'];
  const phrases = names.map((name) => plainWaveform(sampleFile(`speech/${name}.wav`)));
  const pairs = phrases.flatMap((first) => phrases.map((second) => joined(first, second)));
  return [...phrases, ...pairs].slice(0, INPUTS).map((waveform, i) => ({
    mel: logMelWindow(waveform, 0, frontEnd),
    contentFrames: Math.min(frontEnd.windowFrames, Math.floor(waveform.length / frontEnd.hopLength)),
    language: i === 5 ? 'es' : 'en',
  }));
}

test('The demo model writes the same tokens as transformers.js for 20 windows of speech', {
  tags: ['long'],
}, async () => {
  const folder = join(dirname(demoModelsFile()), 'demo-whisper');
  const both = await openBoth(folder, '');
  const { ours, theirs } = await writeBoth(both, speechInputs(both.lehr), 64);
  expect(ours).toHaveLength(INPUTS);
  expect(ours).toEqual(theirs);
  expect(ours.every((tokens) => tokens.length > 3)).toBe(true);
});

/** Sine waves of random period and phase with noise. */
function noiseInputs({ abilities: { frontEnd } }: WhisperEngine): Input[] {
  const { melBins, windowFrames } = frontEnd;
  return Array.from({ length: INPUTS }, (_, seed) => {
    const random = new Random(seed);
    const [period, phase] = [5 + 50 * random.next(), 9 * random.next()];
    const mel = Float32Array.from({ length: melBins * windowFrames }, (_, i) => {
      const [bin, frame] = [Math.floor(i / windowFrames), i % windowFrames];
      return 0.7 * Math.sin(frame / period + bin * phase) + 0.6 * random.next() - 0.3;
    });
    return { mel, language: seed % 2 === 0 ? 'en' : 'es' };
  });
}

test('A model in the shape of whisper-tiny with random weights writes the same tokens as transformers.js for 20 windows', {
  tags: ['long'],
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-whisper-tiny-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeTinyWhisper(folder, { size: 'whisper-tiny', graphs: 'onnx' });
  const both = await openBoth(folder, 'onnx');
  const { ours, theirs } = await writeBoth(both, noiseInputs(both.lehr), 12);
  expect(ours).toEqual(theirs);
  expect(new Set(ours.map((tokens) => tokens.join())).size).toBe(INPUTS);
});
