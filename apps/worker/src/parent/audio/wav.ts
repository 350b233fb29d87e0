/**
 * The header of a WAV file. It is checked here because ffmpeg accepts headers that cannot be true: 5.1 decodes PCM of 13 bits, and
 * makes 64 million samples of 4,000 whose header states 1 Hz.
 * Microsoft, "Multiple channel audio data and WAVE files"; EBU Tech 3306 (RF64).
 */
import { setImmediate } from 'node:timers/promises';
import { LehrError } from '@lehr/shared';
import { WAVEFORM_RATE } from './waveform.ts';

export interface WavHeader {
  /** WAVE_FORMAT_..., that of the sub-format when the format is extensible. */
  readonly tag: number;
  readonly bits: number;
  readonly channelCount: number;
  readonly sampleRate: number;
  /** The data chunk, as far as the file has it. */
  readonly data: Uint8Array;
}

const PCM = 1;
const EXTENSIBLE = 0xfffe;
/** Bits per sample of the uncompressed formats: PCM, float, A-law and mu-law. */
const BITS: Readonly<Record<number, readonly number[]>> = { 1: [8, 16, 24, 32], 3: [32, 64], 6: [8], 7: [8] };
/** MS ADPCM, IMA ADPCM, GSM 6.10, MPEG audio, MP3: ffmpeg checks them. */
const COMPRESSED = [2, 17, 49, 80, 85];
/** A sub-format of an extensible format is a format tag followed by these bytes. */
const SUBFORMAT_TAIL = '000000001000800000aa00389b71';
const MIN_RATE = 8000;
const MAX_RATE = 192_000;
const MAX_CHANNELS = 8;
/** Samples converted before other work of the process gets a turn: a fraction of a millisecond. */
const BLOCK_SAMPLES = 65_536;

/** Throws LehrError `invalid-audio` with what is wrong. */
export function readWavHeader(bytes: Uint8Array): WavHeader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let format: Omit<WavHeader, 'data'> | undefined;
  for (const { id, start, end, size } of chunks(view)) {
    if (id === 'fmt ') format = readFormat(view, start, end);
    if (id !== 'data') continue;
    if (!format) throw invalid('The WAV file has sound before it says in which format (no fmt chunk).');
    // A writer that streams leaves 0 as the size: the data are then all that follows.
    return { ...format, data: bytes.subarray(start, size === 0 ? undefined : end) };
  }
  throw invalid(
    format
      ? 'The WAV file has no sound in it (no data chunk).'
      : 'The WAV file does not say its format (no fmt chunk).',
  );
}

/** Whether the data are the samples of a waveform already: 16-bit PCM, mono, 16 kHz. */
export const isPlain = ({ tag, bits, channelCount, sampleRate }: WavHeader): boolean =>
  tag === PCM && bits === 16 && channelCount === 1 && sampleRate === WAVEFORM_RATE;

/** The samples of a plain file. */
export async function* plainSamples({ data }: WavHeader): AsyncGenerator<Float32Array, void> {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  // Half a sample at the end is left out.
  const length = Math.floor(data.length / 2);
  for (let start = 0; start < length; start += BLOCK_SAMPLES) {
    if (start > 0) await setImmediate();
    const samples = new Float32Array(Math.min(BLOCK_SAMPLES, length - start));
    for (let i = 0; i < samples.length; i++) samples[i] = view.getInt16((start + i) * 2, true) / 0x8000;
    yield samples;
  }
}

interface Chunk {
  readonly id: string;
  readonly start: number;
  /** Where it ends in these bytes, whatever its size says. */
  readonly end: number;
  readonly size: number;
}

function* chunks(view: DataView): Generator<Chunk, void> {
  let at = 12;
  while (at + 8 <= view.byteLength) {
    const id = String.fromCharCode(...Array.from({ length: 4 }, (_, i) => view.getUint8(at + i)));
    const size = view.getUint32(at + 4, true);
    const start = at + 8;
    yield { id, start, end: Math.min(start + size, view.byteLength), size };
    // Chunks are padded to even lengths. Numbers are doubles here: a size of 2^32 - 1 does not wrap.
    at = start + size + (size & 1);
  }
}

function readFormat(view: DataView, start: number, end: number): Omit<WavHeader, 'data'> {
  if (end - start < 16) throw invalid('The WAV file ends within its format (fmt chunk).');
  const outerTag = view.getUint16(start, true);
  const tag = outerTag === EXTENSIBLE ? readSubFormat(view, start, end) : outerTag;
  const bits = view.getUint16(start + 14, true);
  if (!COMPRESSED.includes(tag) && !BITS[tag]?.includes(bits)) {
    throw invalid(
      `The WAV format tag 0x${tag.toString(16)} with ${bits} bits is not supported: send PCM of 8, 16, 24 or 32 bits, float of ` +
        '32 or 64, A-law or mu-law.',
    );
  }
  const channelCount = view.getUint16(start + 2, true);
  const sampleRate = view.getUint32(start + 4, true);
  if (sampleRate < MIN_RATE || sampleRate > MAX_RATE) {
    throw invalid(
      `The file says its sample rate is ${sampleRate} Hz; ${MIN_RATE} to ${MAX_RATE} Hz are supported.`,
    );
  }
  if (channelCount < 1 || channelCount > MAX_CHANNELS) {
    throw invalid(`The file says it has ${channelCount} channels; 1 to ${MAX_CHANNELS} are supported.`);
  }
  return { tag, bits, channelCount, sampleRate };
}

function readSubFormat(view: DataView, start: number, end: number): number {
  if (end - start < 40) throw invalid('The extensible WAV format names no sub-format.');
  const tail = Buffer.from(view.buffer, view.byteOffset + start + 26, 14).toString('hex');
  if (tail !== SUBFORMAT_TAIL) throw invalid('The extensible WAV format names an unknown sub-format.');
  return view.getUint16(start + 24, true);
}

const invalid = (message: string): LehrError => new LehrError('invalid-audio', message);
