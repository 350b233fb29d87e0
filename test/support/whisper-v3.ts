/**
 * Whisper large-v3's smaller forms as onnx-community publishes them: lab/real/whisper/v3/fixtures, which has tiny random weights and the
 * real vocabulary of 51,866 tokens. The graphs are compressed, and the tokenizer is made of the vocabulary in test/golden.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { logMelWindow } from '../../apps/worker/src/parent/audio/log-mel.ts';
import { tokenizerJson, whisperVocabulary } from '../../packages/demo-models/src/index.ts';
import { plainWaveform, sampleFile } from './audio-golden.ts';
import type { WhisperEngine, WindowInput } from './whisper-engine.ts';

const FIXTURES = new URL('../../lab/real/whisper/v3/fixtures/', import.meta.url).pathname;
const TOKENIZERS = new URL('../golden/tokenizers/', import.meta.url);

export interface V3Case {
  readonly sample: string;
  readonly language: string;
  readonly task: 'transcribe' | 'translate';
  /** After the prompt, without the end of text. */
  readonly tokens: readonly number[];
}

interface V3Recorded {
  readonly max_tokens: number;
  readonly cases: readonly V3Case[];
  /** As Optimum writes them with the graphs of each precision; for fp16 as PyTorch does. */
  readonly precisions: Readonly<Record<string, readonly (readonly number[])[]>>;
  /** The language that transformers detects in each sample. */
  readonly languages: Readonly<Record<string, string>>;
  /** What openai-whisper times in the first sample. */
  readonly words: readonly {
    readonly language: string;
    readonly tokens: readonly number[];
    readonly words: readonly { readonly word: string; readonly start: number; readonly end: number }[];
  }[];
}

export const recordedV3: V3Recorded = JSON.parse(readFileSync(join(FIXTURES, 'cases.json'), 'utf8'));

/** The log-mel of the first sample by transformers: `[128, 200]`. */
export const recordedFeatures = (): Float32Array =>
  new Float32Array(new Uint8Array(readFileSync(join(FIXTURES, 'features.f32'))).buffer);

/** The repositories: `turbo`, and `turbo_timestamped`, whose decoders output their cross-attentions. */
export type V3Repository = 'turbo' | 'turbo_timestamped';

/** All files of a repository, with those precisions of its graphs whose suffix is given, '' for float32. */
export function unpackV3(repository: V3Repository, suffixes: readonly string[], folder: string): void {
  mkdirSync(join(folder, 'onnx'), { recursive: true });
  for (const name of ['config.json', 'generation_config.json', 'preprocessor_config.json']) {
    cpSync(join(FIXTURES, repository, name), join(folder, name));
  }
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(v3Tokenizer()));
  // The encoders of both are the same and are there once.
  const graphs = [
    ['turbo', 'encoder_model'],
    [repository, 'decoder_model_merged'],
  ];
  for (const [from, graph] of graphs) {
    for (const file of readdirSync(join(FIXTURES, from, 'onnx'))) {
      const name = file.replace(/\.gz$/, '');
      if (!suffixes.some((suffix) => name.startsWith(`${graph}${suffix}.onnx`))) continue;
      writeFileSync(join(folder, 'onnx', name), gunzipSync(readFileSync(join(FIXTURES, from, 'onnx', file))));
    }
  }
}

/** As `tokenizer.json` of large-v3 is: the multilingual vocabulary, Cantonese as the hundredth language, and 1501 timestamps. */
export function v3Tokenizer(): object {
  const golden = (name: string): string => gunzipSync(readFileSync(new URL(name, TOKENIZERS))).toString();
  const { special_multilingual: known } = JSON.parse(golden('whisper-goldens.json.gz')) as {
    special_multilingual: { languages: Record<string, number> };
  };
  return tokenizerJson(
    whisperVocabulary({
      merges: golden('whisper-merges-multilingual.txt.gz').split('\n'),
      extra: [''],
      languages: [...Object.keys(known.languages), 'yue'],
      timestamps: 1501,
    }),
  );
}

/** The log-mel of the first window of a sample. */
export function v3Mel(
  { abilities: { frontEnd } }: { readonly abilities: Pick<WhisperEngine['abilities'], 'frontEnd'> },
  sample: string,
): Float32Array {
  return logMelWindow(plainWaveform(sampleFile(`speech/${sample}.wav`)), 0, frontEnd);
}

export function v3Window(engine: WhisperEngine, { sample, language, task }: V3Case): WindowInput {
  return {
    mel: v3Mel(engine, sample),
    contentFrames: engine.abilities.frontEnd.windowFrames,
    language,
    translate: task === 'translate',
    maxTokens: recordedV3.max_tokens,
  };
}
