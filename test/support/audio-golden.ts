/** Readers of test/golden/samples and test/golden/whisper. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

const SAMPLES = new URL('../golden/samples/', import.meta.url);
const WHISPER = new URL('../golden/whisper/', import.meta.url);

export const sampleFile = (name: string): Uint8Array => new Uint8Array(readFileSync(new URL(name, SAMPLES)));

/** A file of golden/whisper, unpacked when its name ends in .gz. */
export function whisperFile(name: string): Uint8Array {
  const bytes = readFileSync(new URL(name, WHISPER));
  return new Uint8Array(name.endsWith('.gz') ? gunzipSync(bytes) : bytes);
}

export const whisperFloats = (name: string): Float32Array => new Float32Array(whisperFile(name).buffer);

export interface SampleManifest {
  readonly speech: readonly { readonly file: string; readonly text: string }[];
  readonly formats: readonly {
    readonly file: string;
    readonly original_samples: number;
    readonly ffmpeg_16k_mono: { readonly samples: number; readonly snr_db: number };
  }[];
  readonly broken: readonly { readonly file: string; readonly expect: string; readonly why: string }[];
}

export const sampleManifest: SampleManifest = JSON.parse(
  readFileSync(new URL('manifest.json', SAMPLES), 'utf8'),
);

/** The samples behind the 44 bytes that a plain 16-bit mono WAV begins with, read without Lehr's own reader. */
export function plainWaveform(wav: Uint8Array): Float32Array {
  // A copy: `slice` of a Buffer is a view, whose `buffer` still begins with the header.
  const { buffer } = new Uint8Array(wav.subarray(44));
  return Float32Array.from(new Int16Array(buffer), (value) => value / 0x8000);
}
