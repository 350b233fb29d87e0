/**
 * Sentences and voices that demo-whisper was not trained on, and the word error rate of their transcripts. The list and the
 * audio of its first sentences are beside the training code; espeak-ng makes the audio of all of them.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { editDistance } from '../../packages/shared/src/index.ts';
import type { Random } from './random.ts';

const EVAL = new URL('../../packages/demo-models/train/whisper/eval/', import.meta.url);
const RATE = 16_000;

export interface HeldOutSentence {
  readonly text: string;
  readonly language: 'en' | 'es';
  readonly voice: string;
  readonly speed: number;
  readonly pitch: number;
}

export const heldOutSentences: readonly HeldOutSentence[] = JSON.parse(
  readFileSync(new URL('heldout.json', EVAL), 'utf8'),
).sentences;

/** Number of sentences, from the first, whose audio is in the repository. */
export const HELD_OUT_CLIPS = 20;

/** Opus in Ogg, 16 kHz mono. */
export const heldOutClip = (index: number): Uint8Array =>
  new Uint8Array(readFileSync(new URL(`clips/${String(index).padStart(3, '0')}.ogg`, EVAL)));

export const hasEspeak = (): boolean =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'espeak-ng')));

/** A WAV of 22.05 kHz. */
export async function speak({ text, voice, speed, pitch }: HeldOutSentence): Promise<Uint8Array> {
  const args = ['-v', voice, '-s', `${speed}`, '-p', `${pitch}`, '--stdout', text];
  const { stdout } = await promisify(execFile)('espeak-ng', args, { encoding: 'buffer', maxBuffer: 1 << 24 });
  return new Uint8Array(stdout);
}

/** Adds white noise to a 16 kHz waveform, the given number of decibels below its speech. */
export function withNoise(waveform: Float32Array, decibels: number, random: Random): Float32Array {
  const level = Math.sqrt(speechPower(waveform) / 10 ** (decibels / 10));
  return waveform.map((value) => value + level * normal(random));
}

/** Mean power from the first to the last 5 ms that are louder than 46 dB below the loudest. */
function speechPower(waveform: Float32Array): number {
  const hop = RATE / 200;
  const powers = Array.from({ length: Math.floor(waveform.length / hop) }, (_, i) =>
    meanSquare(waveform.subarray(i * hop, (i + 1) * hop)),
  );
  const least = Math.max(...powers) * 10 ** -4.6;
  const isHeard = (power: number): boolean => power > least;
  const [first, last] = [powers.findIndex(isHeard), powers.findLastIndex(isHeard)];
  return meanSquare(waveform.subarray(first * hop, (last + 1) * hop));
}

const meanSquare = (values: Float32Array): number =>
  values.reduce((sum, value) => sum + value ** 2, 0) / values.length;

/** Box-Muller. */
const normal = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());

export interface TranscribedText {
  readonly spoken: string;
  readonly transcript: string;
}

/** Words missing, added or replaced, per word spoken; case and punctuation do not count. */
export function wordErrorRate(texts: readonly TranscribedText[]): number {
  const wrong = texts.reduce((sum, text) => sum + wrongWords(text), 0);
  return wrong / texts.reduce((sum, { spoken }) => sum + wordsIn(spoken).length, 0);
}

/** Words missing, added or replaced. */
export const wrongWords = ({ spoken, transcript }: TranscribedText): number =>
  editDistance(wordsIn(spoken), wordsIn(transcript));

/** Lower case, without punctuation. */
export const wordsIn = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];
