/** Speech for tests: recorded sentences, and long files made of them. */
import { readFile } from 'node:fs/promises';

export const SAMPLES = new URL('../golden/samples/speech/', import.meta.url);

/** A mono 16-bit WAV of 16 kHz. */
export function wav(samples: Int16Array): Buffer {
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.byteLength, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(16_000, 24);
  header.writeUInt32LE(32_000, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.byteLength, 40);
  return Buffer.concat([header, Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)]);
}

/** A WAV of this length: recorded sentences of several voices with short gaps, and their text. */
export async function longSpeech(minutes: number): Promise<{ bytes: Buffer; text: string }> {
  const clips = await Promise.all(
    [
      ['en_circle.wav', 'a red circle on a blue background'],
      ['en_stars.wav', 'two green stars above a yellow square'],
      ['en_fox.wav', 'the quick brown fox jumps over the lazy dog'],
      ['en_lighthouse.wav', 'a watercolor painting of a lighthouse at dawn'],
    ].map(async ([name, text]) => {
      const file = await readFile(new URL(name, SAMPLES));
      return { sound: new Int16Array(new Uint8Array(file.subarray(44)).buffer), text };
    }),
  );
  const samples = new Int16Array(minutes * 60 * 16_000);
  const texts: string[] = [];
  for (let at = 0, i = 0; ; i += 1) {
    const { sound, text } = clips[i % clips.length];
    if (at + sound.length > samples.length) return { bytes: wav(samples), text: texts.join(' ') };
    samples.set(sound, at);
    texts.push(text);
    at += sound.length + 9_600;
  }
}
