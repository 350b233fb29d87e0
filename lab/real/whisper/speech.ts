/** The speech that is transcribed: a recording of a person, synthetic samples, and sentences that espeak-ng speaks. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeAudio } from '../../../apps/worker/src/parent/audio/decode.ts';
import { readWaveform } from '../../../apps/worker/src/parent/audio/waveform.ts';
import {
  plainWaveform,
  sampleFile,
  sampleManifest,
  whisperFile,
} from '../../../test/support/audio-golden.ts';
import { hasEspeak, heldOutSentences, speak } from '../../../test/support/held-out-speech.ts';
import { wav } from '../../../test/support/speech-files.ts';
import { readAloud } from './read-aloud.ts';

export interface Spoken {
  readonly name: string;
  /** A 16-bit mono WAV of 16 kHz. */
  readonly file: string;
  readonly language: 'en' | 'es';
  readonly text: string;
  readonly waveform: Float32Array;
}

const JFK =
  'And so, my fellow Americans, ask not what your country can do for you, ask what you can do for your country.';
const SENTENCES = 7;
const LIMITS = { maxDurationS: 60, timeoutMs: 10_000 };
const RATE = 16_000;

/** Written below `folder`, because other programs read files. */
async function save(folder: string, name: string, bytes: Uint8Array, text: string, language: 'en' | 'es') {
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${name}.wav`);
  await writeFile(file, bytes);
  return { name, file, language, text, waveform: plainWaveform(bytes) };
}

export const jfk = (folder: string): Promise<Spoken> =>
  save(folder, 'jfk', whisperFile('jfk_16k_mono_s16.wav.gz'), JFK, 'en');

/** jfk and the samples: five English, one Spanish. */
export async function cleanSpeech(folder: string): Promise<Spoken[]> {
  const samples = sampleManifest.speech.map(({ file, text }) => {
    const name = file.replace(/^speech\/|\.wav$/g, '');
    return save(folder, name, sampleFile(file), text, name.startsWith('es') ? 'es' : 'en');
  });
  return Promise.all([jfk(folder), ...samples]);
}

/** Recordings of persons, or of espeak-ng, whose voice Whisper hears badly. */
export interface EnglishPart {
  readonly name: string;
  readonly isPerson: boolean;
  readonly files: readonly Spoken[];
}

/** What word errors are counted of. Throws without the recordings. */
export async function englishParts(folder: string): Promise<EnglishPart[]> {
  const english = (await cleanSpeech(folder)).filter(({ language }) => language === 'en');
  const read = (await readAloud()).map(({ name, bytes, text }) => save(folder, name, bytes, text, 'en'));
  return [
    { name: 'jfk.flac', isPerson: true, files: english.filter(({ name }) => name === 'jfk') },
    { name: 'five sentences of a novel, read aloud', isPerson: true, files: await Promise.all(read) },
    {
      name: 'the five samples that espeak-ng speaks',
      isPerson: false,
      files: english.filter(({ name }) => name !== 'jfk'),
    },
  ];
}

/** Sentences in English and Spanish in many voices. Throws without espeak-ng. */
export async function espeakSpeech(folder: string, count = SENTENCES): Promise<Spoken[]> {
  if (!hasEspeak()) throw new Error('espeak-ng is missing: apt-get install espeak-ng');
  const spoken: Spoken[] = [];
  for (const [i, sentence] of heldOutSentences.slice(0, count).entries()) {
    const { waveform } = await decodeAudio(await speak(sentence), LIMITS);
    const bytes = wav(toInt16(readWaveform(waveform, 0, waveform.length)));
    spoken.push(await save(folder, `espeak-${i}`, bytes, sentence.text, sentence.language));
  }
  return spoken;
}

/** English sentences of one voice with pauses of 0.4 s, and jfk at the beginning of every minute. */
export async function longSpeech(folder: string, minutes: number): Promise<Spoken> {
  const first = await jfk(folder);
  const english = heldOutSentences.filter(({ language }) => language === 'en');
  const samples = new Int16Array(minutes * 60 * RATE);
  const texts: string[] = [];
  let at = 0;
  let minute = 0;
  for (let i = 0; ; ) {
    const isSpeech = at >= minute * 60 * RATE;
    if (isSpeech) minute += 1;
    const part = isSpeech
      ? { sound: toInt16(first.waveform), text: first.text }
      : await sentence(english[i++ % english.length]);
    if (at + part.sound.length > samples.length) break;
    samples.set(part.sound, at);
    texts.push(part.text);
    at += part.sound.length + 0.4 * RATE;
  }
  return save(folder, `long-${minutes}`, wav(samples), texts.join(' '), 'en');
}

async function sentence(
  each: (typeof heldOutSentences)[number],
): Promise<{ sound: Int16Array; text: string }> {
  const bytes = await speak({ ...each, voice: 'en-us', speed: 150, pitch: 50 });
  const { waveform } = await decodeAudio(bytes, LIMITS);
  return { sound: toInt16(readWaveform(waveform, 0, waveform.length)), text: each.text };
}

const toInt16 = (waveform: Float32Array): Int16Array =>
  Int16Array.from(waveform, (value) => Math.max(-0x8000, Math.min(0x7fff, Math.round(value * 0x8000))));

/** Reads a file of another run. */
export const bytesOf = async ({ file }: Spoken): Promise<Uint8Array> => new Uint8Array(await readFile(file));
