/**
 * The second way to decode: an ffmpeg on PATH, for what no library here reads: ALAC, AC-3 and Vorbis in mp4 or webm; FLAC and
 * Speex in Ogg; ADPCM, GSM and MP3 in wav; CAF, WMA, AMR and AU files. It gets the bytes through a pipe and may open nothing
 * else, is told the format instead of guessing it, and stands under limits of the kernel, which hold even if the thread that
 * started it is no more.
 */
import { spawn } from 'node:child_process';
import { LehrError } from '@lehr/shared';
import type { UnreadableCodec } from './formats/unreadable-codec.ts';
import type { PcmBlock } from './pcm-block.ts';
import type { AudioFormat } from './sniff.ts';
import { WAVEFORM_RATE } from './waveform.ts';

/** ffmpeg's names of the formats that we sniff. */
const DEMUXERS: Readonly<Record<AudioFormat, string>> = {
  wav: 'wav',
  aiff: 'aiff',
  flac: 'flac',
  mp3: 'mp3',
  ogg: 'ogg',
  mp4: 'mov',
  webm: 'matroska',
  aac: 'aac',
  caf: 'caf',
  asf: 'asf',
  amr: 'amr',
  au: 'au',
};

const MEMORY_KIB = 2 * 1024 * 1024;
/** Limits first, then ffmpeg in the same process id, with none of our environment. */
const LIMITED = 'ulimit -t "$1"; ulimit -v "$2"; shift 2; exec env -i PATH="$PATH" "$@"';
const NOT_FOUND = 127;

/**
 * 16 kHz mono, as ffmpeg decodes, mixes and resamples it. `unreadable` says why it is needed. Throws LehrError
 * `invalid-audio`, also when there is no ffmpeg.
 */
export async function* ffmpegBlocks(
  bytes: Uint8Array,
  format: AudioFormat,
  unreadable: UnreadableCodec,
  timeoutMs: number,
  command = 'ffmpeg',
): AsyncGenerator<PcmBlock, void> {
  const seconds = Math.ceil(timeoutMs / 1000);
  const args = ['-c', LIMITED, 'sh', `${seconds}`, `${MEMORY_KIB}`, command, ...argumentsFor(format)];
  const child = spawn('/bin/sh', args, { stdio: ['pipe', 'pipe', 'ignore'] });
  const exit = new Promise<number | null>((resolve) => {
    child.once('close', resolve);
    // No shell on this system is no ffmpeg either.
    child.once('error', () => resolve(NOT_FOUND));
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  // It may stop reading before the end of the bytes; what it made of them decides.
  child.stdin.on('error', () => {});
  child.stdin.end(bytes);
  let isSound = false;
  try {
    for await (const samples of floats(child.stdout)) {
      isSound ||= samples.length > 0;
      yield { sampleRate: WAVEFORM_RATE, channels: [samples] };
    }
    const code = await exit;
    if (code !== 0 || !isSound) throw refusal(code, format, unreadable);
  } finally {
    clearTimeout(timer);
    child.kill('SIGKILL');
  }
}

function refusal(code: number | null, format: AudioFormat, unreadable: UnreadableCodec): LehrError {
  const { codec } = unreadable;
  const message =
    code === NOT_FOUND
      ? `The ${format} file holds ${codec}, which this worker cannot decode; send wav, flac, mp3, ogg, m4a (AAC) or webm (Opus).`
      : `The ${format} file could not be decoded: the ${codec} in it is broken, cannot be read as a stream, or took too long.`;
  return new LehrError('invalid-audio', message, { cause: unreadable });
}

const argumentsFor = (format: AudioFormat): string[] =>
  [
    '-nostdin -loglevel quiet -threads 1 -protocol_whitelist pipe',
    `-f ${DEMUXERS[format]} -i pipe:0 -map 0:a:0 -vn -sn -dn`,
    `-ac 1 -ar ${WAVEFORM_RATE} -f f32le pipe:1`,
  ].flatMap((part) => part.split(' '));

/** Pipes cut where they like: a float's bytes may come in two chunks. */
async function* floats(stream: AsyncIterable<Buffer>): AsyncGenerator<Float32Array, void> {
  let rest = Buffer.alloc(0);
  for await (const chunk of stream) {
    const bytes = Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % 4);
    rest = bytes.subarray(whole);
    yield new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + whole));
  }
}
