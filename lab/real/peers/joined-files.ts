/** A file several times, as one long file. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { wav } from '../../../test/support/speech-files.ts';
import type { Spoken } from '../whisper/speech.ts';

const RATE = 16_000;

export async function joinedFiles(folder: string, spoken: Spoken, times: number) {
  const { waveform, text } = spoken;
  const samples = new Int16Array(waveform.length * times);
  for (let i = 0; i < samples.length; i++) samples[i] = Math.round(waveform[i % waveform.length] * 0x8000);
  const file = join(folder, `${spoken.name}-${times}.wav`);
  await writeFile(file, wav(samples));
  const seconds = waveform.length / RATE;
  // A clip ends a little before its file: faster-whisper 1.2.1 stops when its clips are longer than the sound by a rounding error.
  const clips = Array.from({ length: times }, (_, i) => ({
    start: i * seconds,
    end: (i + 1) * seconds - 0.01,
  }));
  const joined: Spoken = { ...spoken, file, text: new Array<string>(times).fill(text).join(' ') };
  return { joined, clips };
}
