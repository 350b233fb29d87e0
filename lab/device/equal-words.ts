/** Transcripts and answers about texts of a device beside those of the CPU, and beside those that the device gives alone. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AnsweredMessage, TranscribedMessage } from '../../apps/worker/src/engine/protocol/messages.ts';
import type { Provider } from '../../apps/worker/src/engine/runtime/runtime.ts';
import { logMelWindow } from '../../apps/worker/src/parent/audio/log-mel.ts';
import { plainWaveform, sampleFile, sampleManifest } from '../../test/support/audio-golden.ts';
import { openTextEngine, type TextInput } from '../../test/support/text-engine.ts';
import { TEXT_FIXTURES, unpackTextFixture } from '../../test/support/text-fixtures.ts';
import { openWhisperEngine } from '../../test/support/whisper-engine.ts';
import { recorded, unpackExport, windowOf } from '../../test/support/whisper-exports.ts';
import { differenceOf, orError } from './figures.ts';

const DEMO = new URL('../../packages/demo-models/', import.meta.url);
const DEMO_WHISPER = fileURLToPath(new URL('models/demo-whisper', DEMO));
const DEMO_TEXT = fileURLToPath(new URL('models/demo-text', DEMO));
const ROWS = 16;

/** The six recorded phrases of the samples. */
export async function demoWords(provider: Provider): Promise<object> {
  const [device, cpu] = [await phrasesOn(provider), await phrasesOn('cpu')];
  const confidence = ({ together }: typeof device) => together.map((each) => each.avgLogProbability);
  return {
    phrases: device.together.length,
    equalToCpu: equalTokens(device.together, cpu.together),
    equalToAlone: equalTokens(device.together, device.alone),
    logProbability: differenceOf(confidence(device), confidence(cpu)),
    msTogether: device.ms,
    msTogetherCpu: cpu.ms,
  };
}

async function phrasesOn(provider: Provider) {
  const engine = await openWhisperEngine(DEMO_WHISPER, { rowCap: ROWS, providers: [provider] });
  const { frontEnd } = engine.abilities;
  const windows = sampleManifest.speech.map(({ file }) => ({
    mel: logMelWindow(plainWaveform(sampleFile(file)), 0, frontEnd),
    contentFrames: frontEnd.windowFrames,
    language: null,
  }));
  const alone: TranscribedMessage[] = [];
  for (const window of windows) alone.push(...(await engine.write([window])));
  await engine.write(windows);
  const startedAt = performance.now();
  const together = await engine.write(windows);
  const ms = performance.now() - startedAt;
  await engine.close();
  return { alone, together, ms };
}

/** How many texts have equal tokens. */
const equalTokens = (a: readonly TranscribedMessage[], b: readonly TranscribedMessage[]): number =>
  a.filter(({ tokens }, i) => tokens.join() === b[i].tokens.join()).length;

/** The exports of transformers, with what it writes in torch. */
export async function whisperExports(provider: Provider): Promise<object> {
  const results: Record<string, object> = {};
  for (const form of ['merged', 'pair', 'words', 'fp16']) {
    const folder = await mkdtemp(join(tmpdir(), 'lehr-device-'));
    results[form] = await orError(async () => {
      unpackExport(form, folder);
      const engine = await openWhisperEngine(folder, { rowCap: ROWS, providers: [provider] });
      const texts = await engine.write(recorded.cases.map((each) => windowOf(engine, each)));
      await engine.close();
      const isEqual = ({ tokens }: TranscribedMessage, i: number) =>
        tokens.join() === recorded.cases[i].tokens.join();
      return { windows: texts.length, equalToTorch: texts.filter(isEqual).length };
    });
    await rm(folder, { recursive: true, force: true });
  }
  return results;
}

/** Captions of scenes: embeddings, labels and fillings of the demo model. */
export async function demoTexts(provider: Provider): Promise<object> {
  const file = await readFile(new URL('train/text/eval/heldout.json', DEMO), 'utf8');
  const { captions } = JSON.parse(file) as { captions: { text: string; masked: string }[] };
  const some = captions.slice(0, 64);
  const [device, cpu] = [await textsOn(DEMO_TEXT, provider, some), await textsOn(DEMO_TEXT, 'cpu', some)];
  return {
    texts: some.length,
    embeddings: differenceOf(device.embeddings, cpu.embeddings),
    embeddingsAlone: differenceOf(device.embeddings, device.embeddingsAlone),
    equalLabels: device.labels.filter((label, i) => label === cpu.labels[i]).length,
    equalFillings: device.fillings.filter((word, i) => word === cpu.fillings[i]).length,
  };
}

async function textsOn(
  folder: string,
  provider: Provider,
  captions: readonly { readonly text: string; readonly masked: string }[],
) {
  const engine = await openTextEngine(folder, { providers: [provider] });
  const texts = captions.map(({ text }) => text);
  const embed = (of: readonly string[]): TextInput => ({
    texts: of,
    work: { type: 'text-embedding', normalize: null, dimensions: null },
  });
  const alone: number[] = [];
  for (const text of texts) alone.push(...embeddingsOf((await engine.answer([embed([text])]))[0]));
  const [{ answers: labels }] = await engine.answer([
    { texts, work: { type: 'text-classification', topK: 1, function: null } },
  ]);
  const [{ answers: fills }] = await engine.answer([
    { texts: captions.map(({ masked }) => masked), work: { type: 'fill-mask', topK: 1 } },
  ]);
  const embeddings = embeddingsOf((await engine.answer([embed(texts)]))[0]);
  await engine.close();
  return {
    embeddings,
    embeddingsAlone: alone,
    labels: labels.type === 'text-classification' ? labels.labels.map(([best]) => best.label) : [],
    fillings: fills.type === 'fill-mask' ? fills.fills.map(([mask]) => mask[0].token_str) : [],
  };
}

function embeddingsOf({ answers }: AnsweredMessage): Float32Array {
  if (answers.type !== 'text-embedding') throw new Error(`Wanted embeddings, got ${answers.type}.`);
  return answers.values;
}

/** Whether the text fixtures open on the device. */
export async function textExports(provider: Provider): Promise<object> {
  const results: Record<string, object> = {};
  for (const name of TEXT_FIXTURES) {
    const folder = await mkdtemp(join(tmpdir(), 'lehr-device-'));
    results[name] = await orError(async () => {
      unpackTextFixture(name, folder);
      const engine = await openTextEngine(folder, { providers: [provider] });
      await engine.close();
      return { opened: true };
    });
    await rm(folder, { recursive: true, force: true });
  }
  return results;
}
