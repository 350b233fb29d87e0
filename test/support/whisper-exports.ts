/**
 * The exports of lab/real/whisper/fixtures: the graphs of the real exporter with tiny random weights, and what transformers writes
 * with them in PyTorch. The graphs are compressed, so a form is unpacked into a folder first.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { logMelWindow } from '../../apps/worker/src/parent/audio/log-mel.ts';
import { plainWaveform, sampleFile } from './audio-golden.ts';
import type { WhisperEngine, WindowInput } from './whisper-engine.ts';

const FIXTURES = new URL('../../lab/real/whisper/fixtures/', import.meta.url).pathname;

export interface TransformersCase {
  readonly sample: string;
  readonly language: string;
  readonly task: 'transcribe' | 'translate';
  /** After the prompt, without the end of text. */
  readonly tokens: readonly number[];
  /** As Optimum writes them with the graphs of the form int8. */
  readonly int8: readonly number[];
}

export interface RecordedCases {
  /** The longest text. */
  readonly max_tokens: number;
  readonly cases: readonly TransformersCase[];
  /** What the decoder reads for `recordedAttention`, with the sound of the first case. */
  readonly attention_tokens: readonly number[];
}

export const recorded: RecordedCases = JSON.parse(readFileSync(join(FIXTURES, 'cases.json'), 'utf8'));

/** `[layers, heads, tokens, positions]` */
export const recordedAttention = (): Float32Array =>
  new Float32Array(new Uint8Array(readFileSync(join(FIXTURES, 'attention.f32'))).buffer);

/** Unpacks a form of the export, with the configs. */
export function unpackExport(form: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  cpSync(join(FIXTURES, 'configs'), folder, { recursive: true });
  for (const name of readdirSync(join(FIXTURES, form))) {
    const bytes = gunzipSync(readFileSync(join(FIXTURES, form, name)));
    writeFileSync(join(folder, name.slice(0, -'.gz'.length)), bytes);
  }
}

/** The window of a case. */
export function windowOf(
  { abilities: { frontEnd } }: WhisperEngine,
  { sample, language, task }: TransformersCase,
): WindowInput {
  const waveform = plainWaveform(sampleFile(`speech/${sample}.wav`));
  return {
    mel: logMelWindow(waveform, 0, frontEnd),
    contentFrames: frontEnd.windowFrames,
    language,
    translate: task === 'translate',
    maxTokens: recorded.max_tokens,
  };
}
