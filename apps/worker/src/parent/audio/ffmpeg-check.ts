/** Whether this machine can decode audio: for readiness and the doctor. */
import { LehrError } from '@lehr/shared';
import { decodeWithFfmpeg } from './ffmpeg.ts';

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
