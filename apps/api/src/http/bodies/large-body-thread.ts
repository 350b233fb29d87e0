/** The thread that parses large bodies: JSON text in; the same JSON without its inline audio, and the audio, out. */
import { parentPort } from 'node:worker_threads';
import { LehrError } from '@lehr/shared';
import { runsInSpareTime } from '../thread-calls.ts';
import { decodeDataUri, type InlineAudio, isBarePicture, isDataUri, referenceTo } from './inline-audio.ts';
import { checkJsonShape } from './json-shape.ts';
import type { LargeBodyAnswer, LargeBodyTask } from './large-bodies.ts';

/** Shorter strings are left in the body. */
const MIN_AUDIO_LENGTH = 16 * 1024;

runsInSpareTime();

parentPort?.on('message', ({ id, body, maxRestLength }: LargeBodyTask) => {
  const answer = parse(id, body, maxRestLength);
  const buffers =
    answer.type === 'parsed' ? answer.audio.map(({ bytes }) => bytes.buffer as ArrayBuffer) : [];
  parentPort?.postMessage(answer, buffers);
});

function parse(id: number, body: Uint8Array, maxRestLength: number): LargeBodyAnswer {
  try {
    const text = new TextDecoder('utf-8').decode(body);
    checkJsonShape(text);
    const audio: InlineAudio[] = [];
    const rest = JSON.stringify(
      JSON.parse(text, (_, value) => {
        if (!isLong(value)) return value;
        if (isBarePicture(value)) return taken(`data:;base64,${value}`, audio);
        return isDataUri(value) ? taken(value, audio) : value;
      }),
    );
    if (rest.length > maxRestLength) {
      throw new LehrError(
        'too-large',
        `Without inline audio the body may have at most ${maxRestLength} bytes.`,
      );
    }
    return { type: 'parsed', id, text: rest, audio };
  } catch (error) {
    if (error instanceof LehrError) return { type: 'refused', id, code: error.code, message: error.message };
    return { type: 'refused', id, code: 'invalid-request', message: 'The body is not JSON.' };
  }
}

const isLong = (value: unknown): value is string =>
  typeof value === 'string' && value.length >= MIN_AUDIO_LENGTH;

/** Moves the audio of a data: URI into `audio`. One that cannot be decoded becomes a short URI, which is refused later. */
function taken(uri: string, audio: InlineAudio[]): string {
  const decoded = decodeDataUri(uri);
  if (!decoded) return 'data:,';
  // Copied: a small buffer may share memory that cannot be transferred.
  const bytes = new Uint8Array(decoded.bytes);
  audio.push({ contentType: decoded.contentType, bytes });
  return referenceTo(audio.length - 1, bytes);
}
