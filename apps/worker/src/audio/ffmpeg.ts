/**
 * Decodes audio with ffmpeg, as Whisper does, in a separate process for each file. The process is not trusted: it gets the demuxer by
 * name instead of guessing the format, reads and writes pipes only, inherits no environment variable but PATH, and runs under limits of
 * the kernel, which hold even when this process has ended.
 */
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { LehrError } from '@lehr/shared';
import type { AudioLimits, DecodeOptions } from './decode.ts';
import type { AudioFormat } from './sniff.ts';
import { WAVEFORM_RATE } from './waveform.ts';
import { tooLong } from './waveform-sink.ts';

/** What one ffmpeg may use. */
interface ProcessLimits {
  readonly wallMs: number;
  /** Seconds of processor time. */
  readonly cpuS: number;
  /** Address space. */
  readonly memoryKiB: number;
}

const processLimits = ({ timeoutMs }: AudioLimits): ProcessLimits => ({
  wallMs: timeoutMs,
  cpuS: Math.ceil(timeoutMs / 1000),
  // Debian's ffmpeg needs 300 MB, most of it for its libraries.
  memoryKiB: 1024 * 1024,
});

/** ffmpeg's names for the formats. */
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

/**
 * Formats whose header states how long the file is. ffmpeg estimates the others from the bit rate of their first frames, which is
 * no reason to refuse a file.
 */
const STATE_DURATION: readonly AudioFormat[] = ['flac', 'mp4', 'webm'];

/** Values of one decoded frame, over all channels: 8 channels of the longest FLAC frame. */
const MAX_FRAME_VALUES = 8 * 65_536;

/**
 * Processor seconds, address space in KiB, and file size in blocks of 512 bytes; then ffmpeg under the same process id, with no
 * environment variable but PATH.
 */
const LIMITED =
  'ulimit -t "$1"; ulimit -v "$2"; ulimit -f "$3"; shift 3; exec /usr/bin/env -i PATH="$PATH" "$@"';

/** Kept of what ffmpeg prints: its description of the file comes first. */
const MAX_REPORT_LENGTH = 16_384;

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * The samples at 16 kHz, mono, as ffmpeg decodes, mixes and resamples them. Throws LehrError `invalid-audio`; `too-large` when the
 * file's header says that it is too long; `unavailable` when ffmpeg cannot run here.
 */
export async function* decodeWithFfmpeg(
  bytes: Uint8Array,
  format: AudioFormat,
  limits: AudioLimits,
  { signal, ffmpeg = 'ffmpeg' }: DecodeOptions = {},
): AsyncGenerator<Float32Array, void> {
  const refused = new AbortController();
  const end = signal ? AbortSignal.any([signal, refused.signal]) : refused.signal;
  end.throwIfAborted();
  const { wallMs, cpuS, memoryKiB } = processLimits(limits);
  const kernelLimits = [cpuS, memoryKiB, Math.ceil(bytes.length / 512)].map(String);
  const child = spawn(
    '/bin/sh',
    ['-c', LIMITED, 'sh', ...kernelLimits, ffmpeg, ...argumentsFor(format, bytes.length)],
    { cwd: tmpdir(), signal: end, killSignal: 'SIGKILL' },
  );
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, killedBy) => resolve({ code, signal: killedBy }));
    // The process could not be started, or `end` aborted and has the reason.
    child.on('error', () => resolve({ code: NOT_STARTED, signal: null }));
  });
  const timer = setTimeout(() => refused.abort(tooSlow(wallMs)), wallMs);
  let report = '';
  child.stderr.on('data', (text: Buffer) => {
    report = (report + text.toString('latin1')).slice(0, MAX_REPORT_LENGTH);
    if (STATE_DURATION.includes(format) && statedDurationS(report) > limits.maxDurationS)
      refused.abort(tooLong(limits.maxDurationS));
  });
  // ffmpeg may stop reading before the end of the bytes; its exit code says whether that is a fault.
  child.stdin.on('error', () => {});
  child.stdin.end(bytes);
  try {
    for await (const samples of floatsOf(child.stdout)) {
      end.throwIfAborted();
      yield samples;
    }
    const exit = await exited;
    end.throwIfAborted();
    if (exit.code !== 0) throw failure(exit, report, format, cpuS);
  } finally {
    clearTimeout(timer);
    child.kill('SIGKILL');
  }
}

/**
 * The input is seekable and of a known length, as a file is, but comes through a pipe: `cache` keeps what was read in a temporary file
 * without a name. An mp4 whose index is at its end cannot be read otherwise, and of an mp3 the padding at its end would stay.
 * With `rematrix_maxval=1` two channels become their mean, as in Whisper's 16-bit output; floats would be mixed 1.4 times as loud.
 */
const argumentsFor = (format: AudioFormat, length: number): string[] =>
  [
    '-hide_banner -nostdin -nostats -loglevel info -threads 1',
    '-protocol_whitelist pipe,cache,subfile -read_ahead_limit -1',
    `-max_samples ${MAX_FRAME_VALUES} -f ${DEMUXERS[format]}`,
    `-i subfile,,start,0,end,${length},,:cache:pipe:0`,
    `-map 0:a:0 -vn -sn -dn -af aresample=rematrix_maxval=1 -ac 1 -ar ${WAVEFORM_RATE} -f f32le pipe:1`,
  ].flatMap((part) => part.split(' '));

/** A pipe may cut between any two bytes: the four of a float can come in two chunks. */
async function* floatsOf(stream: AsyncIterable<Buffer>): AsyncGenerator<Float32Array, void> {
  let rest = Buffer.alloc(0);
  for await (const chunk of stream) {
    const bytes = Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % 4);
    rest = bytes.subarray(whole);
    yield new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + whole));
  }
}

/** 0 when the report does not say. */
function statedDurationS(report: string): number {
  const [hours, minutes, seconds] =
    /^ {2}Duration: (\d+):(\d\d):(\d\d\.\d\d),/m.exec(report)?.slice(1).map(Number) ?? [];
  return hours === undefined ? 0 : (hours * 60 + minutes) * 60 + seconds;
}

const NOT_STARTED = -1;
/** Exit codes of `sh` and `env` when the program is not there, and when it cannot be executed. */
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

/** ffmpeg's own messages are not passed on: they may hold anything that is in the file. */
function failure({ code, signal }: Exit, report: string, format: AudioFormat, cpuS: number): LehrError {
  if (code === NOT_FOUND || code === NOT_EXECUTABLE)
    return unavailable('ffmpeg is missing: install it there, or send 16-bit mono WAV at 16 kHz.');
  if (code === NOT_STARTED) return unavailable('no process could be started there.');
  if (report.includes('Failed to create tempfile')) return unavailable('its /tmp takes no files.');
  // Sent by the kernel at a limit: before this process sends one, `end` aborts.
  if (signal === 'SIGKILL')
    return invalid(`Decoding the file took more than ${cpuS} seconds of processor time, or too much memory.`);
  if (signal) return invalid(`The ${format} file broke the decoder that read it.`);
  if (report.includes('matches no streams')) return invalid(`The ${format} file has no audio track.`);
  return invalid(
    `The ${format} file could not be decoded: it is broken, or holds a codec that ffmpeg does not know.`,
  );
}

const tooSlow = (wallMs: number): LehrError =>
  invalid(`Decoding the file took longer than ${wallMs / 1000} seconds.`);

const unavailable = (why: string): LehrError =>
  new LehrError('unavailable', `This worker cannot decode audio: ${why}`);

const invalid = (message: string): LehrError => new LehrError('invalid-audio', message);
