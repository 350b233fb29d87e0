/**
 * Decodes audio with ffmpeg, as Whisper does, in a separate process for each file. The process is not trusted: it gets the demuxer by
 * name instead of guessing the format, reads and writes pipes only, inherits no environment variable but PATH, and runs under limits of
 * the kernel, which hold even when this process has ended.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { LehrError } from '@lehr/shared';
import { type SourceSound, sourceSound, statedDurationS } from './ffmpeg-report.ts';
import type { AudioFormat } from './sniff.ts';
import { WAVEFORM_RATE } from './waveform.ts';

export interface AudioLimits {
  /** Seconds of sound, counted as they are decoded, whatever the file says. */
  readonly maxDurationS: number;
  /** Wall-clock time for decoding the whole file. */
  readonly timeoutMs: number;
}

export interface DecodeOptions {
  /** Its abort ends the decoding, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** The program to run. */
  readonly ffmpeg?: string;
}

/** What one ffmpeg may use. */
interface ProcessLimits {
  readonly wallMs: number;
  /** Seconds of processor time. */
  readonly cpuS: number;
  /** Address space. */
  readonly memoryKiB: number;
}

/**
 * Processor time for a file: this much for the start of ffmpeg and for a short file, and more with each second of sound that it has
 * written. The time counts what is decoded, all channels at the rate of the file; the sound counts what comes out of it. ffmpeg 5.1 on a
 * server core starts in 80 ms and takes 1/180 of the length of Opus, the slowest of the usual formats (AAC, FLAC and mp3: 1/800), so that
 * a machine may be three times as slow.
 */
const START_CPU_S = 2;
const CPU_S_PER_AUDIO_S = 1 / 50;
/** How often the processor time is compared with the sound written so far. */
const CPU_CHECK_MS = 100;

const allowedCpuS = (audioS: number): number => START_CPU_S + audioS * CPU_S_PER_AUDIO_S;

const processLimits = ({ timeoutMs, maxDurationS }: AudioLimits): ProcessLimits => ({
  wallMs: timeoutMs,
  // The kernel counts whole seconds, and its limit is the only one where the processor time cannot be read.
  cpuS: Math.ceil(Math.min(timeoutMs / 1000, allowedCpuS(maxDurationS))),
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

/** Kept of what ffmpeg prints last: the metadata of a file may be long, and an error comes at the end. */
const MAX_REPORT_LENGTH = 16_384;

/**
 * Stereo of 48 kHz may be as long as the model allows; with more samples a second over all channels, it may be shorter by as much.
 * Decoding and resampling take time for each sample of each channel.
 */
const FULL_LENGTH_SAMPLES_PER_S = 2 * 48_000;

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * The samples at 16 kHz, mono, as ffmpeg decodes, mixes and resamples them. Throws LehrError `invalid-audio`; `too-large` when
 * there is too much sound, or the file's header says so; `unavailable` when ffmpeg cannot run here.
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
  let length = 0;
  let source: SourceSound | undefined;
  const check = setInterval(() => {
    const usedS = child.pid === undefined ? undefined : processorSeconds(child.pid);
    if (usedS !== undefined && usedS > allowedCpuS(length / WAVEFORM_RATE)) refused.abort(tooCostly());
  }, CPU_CHECK_MS);
  let report = '';
  child.stderr.on('data', (text: Buffer) => {
    report += text.toString('latin1');
    // The first one: the output is described after the input.
    source ??= sourceSound(report);
    if (source && STATE_DURATION.includes(format) && statedDurationS(report) > maxDurationOf(source, limits))
      refused.abort(tooLongFor(source, limits));
    report = report.slice(-MAX_REPORT_LENGTH);
  });
  // ffmpeg may stop reading before the end of the bytes; its exit code says whether that is a fault.
  child.stdin.on('error', () => {});
  child.stdin.end(bytes);
  try {
    for await (const samples of floatsOf(child.stdout)) {
      end.throwIfAborted();
      length += samples.length;
      if (source && length > maxDurationOf(source, limits) * WAVEFORM_RATE) throw tooLongFor(source, limits);
      yield samples;
    }
    const exit = await exited;
    end.throwIfAborted();
    if (exit.code !== 0) throw failure(exit, report, format, cpuS);
  } finally {
    clearTimeout(timer);
    clearInterval(check);
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

/** Seconds, rounded down. */
function maxDurationOf(source: SourceSound | undefined, { maxDurationS }: AudioLimits): number {
  const samplesPerS = source ? source.sampleRate * source.channels : 0;
  if (samplesPerS <= FULL_LENGTH_SAMPLES_PER_S) return maxDurationS;
  return Math.floor((maxDurationS * FULL_LENGTH_SAMPLES_PER_S) / samplesPerS);
}

function tooLongFor(source: SourceSound | undefined, limits: AudioLimits): LehrError {
  const maxDurationS = maxDurationOf(source, limits);
  return tooLong(maxDurationS, maxDurationS < limits.maxDurationS ? source : undefined);
}

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

const tooCostly = (): LehrError =>
  invalid(
    `Decoding the file takes more processor time than its length allows: ${START_CPU_S} seconds, and one more for every ` +
      `${1 / CPU_S_PER_AUDIO_S} seconds of sound. Send fewer channels or a lower sample rate.`,
  );

const unavailable = (why: string): LehrError =>
  new LehrError('unavailable', `This worker cannot decode audio: ${why}`);

const invalid = (message: string): LehrError => new LehrError('invalid-audio', message);

/** One sample of 16-bit PCM, mono, 8 kHz. */
const ONE_SAMPLE = Buffer.from(
  '524946462600000057415645666d74201000000001000100401f0000803e00000200100064617461020000000000',
  'hex',
);
const LIMITS = { maxDurationS: 1, timeoutMs: 10_000 };

/** Decodes a file of one sample. Undefined when that works, else why it does not, in a sentence. */
export async function ffmpegProblem(ffmpeg?: string): Promise<string | undefined> {
  try {
    for await (const _ of decodeWithFfmpeg(ONE_SAMPLE, 'wav', LIMITS, ffmpeg ? { ffmpeg } : {}));
    return undefined;
  } catch (error) {
    return error instanceof LehrError && error.code === 'unavailable'
      ? error.message
      : 'This worker cannot decode audio: its ffmpeg fails on a valid WAV file.';
  }
}

/** Fields of /proc/<pid>/stat behind the name of the program: time in user mode and in the kernel. See proc(5). */
const USER_TIME = 11;
const SYSTEM_TIME = 12;
/** The unit of these fields: sysconf(_SC_CLK_TCK), which is 100 on every Linux that Node.js runs on. */
const TICKS_PER_S = 100;

/** Seconds over all threads; undefined when the process is gone, and on systems without /proc. */
function processorSeconds(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name may hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME])) / TICKS_PER_S;
  } catch {
    return undefined;
  }
}

/** `source` is given when it allows less than the model does; the message then names it. */
export function tooLong(maxDurationS: number, source?: SourceSound): LehrError {
  const seconds = `The audio is longer than the ${maxDurationS} seconds allowed`;
  if (!source) return new LehrError('too-large', `${seconds}.`);
  const { channels, sampleRate } = source;
  return new LehrError('too-large', `${seconds} for ${channels} channels at ${sampleRate} Hz.`);
}
