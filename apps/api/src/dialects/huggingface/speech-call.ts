/** Calls that transcribe: the native request of a call, and its answer. */
import type { JobRequest, Transcript } from '@lehr/shared';
import { refusal } from '../../base/field-problems.ts';
import { type InlineAudio, referenceTo } from '../../http/bodies/inline-audio.ts';
import { type Names, nativeRequest } from '../../jobs/requests/field-names.ts';
import { type Body, checked, SpeechParametersSchema } from './fields.ts';

export const SPEECH_NAMES: Names = (pointer) =>
  pointer === '/input/audio'
    ? '/inputs'
    : pointer
        .replace('/input/timestamps', '/parameters/return_timestamps')
        .replace(/^\/input\//, '/parameters/generation_parameters/');

/** The audio of a JSON body, which is base64. Throws `invalid-input`. */
export function audioOf({ inputs }: Body): InlineAudio {
  if (typeof inputs !== 'string' || inputs === '') {
    throw refusal('invalid-input', [{ pointer: '/inputs', detail: 'must be audio in base64' }]);
  }
  return { contentType: '', bytes: Buffer.from(inputs.replace(/^data:[^,]{0,200},/, ''), 'base64') };
}

/** The audio is the first one of the request's inline audio. Throws `invalid-input`. */
export function speechRequest(model: string | undefined, body: Body, { bytes }: InlineAudio): JobRequest {
  const { return_timestamps, generation_parameters, generate_kwargs } = checked(
    SpeechParametersSchema,
    body.parameters,
    'parameters',
  );
  const { language, task, temperature } = generation_parameters ?? generate_kwargs ?? {};
  const input = {
    audio: referenceTo(0, bytes),
    language,
    task,
    temperature,
    timestamps: return_timestamps === 'word' ? ('word' as const) : undefined,
  };
  return nativeRequest({ type: 'speech-to-text', model, input }, SPEECH_NAMES);
}

/** With `chunks` only if the caller wants times. */
export function speechAnswer({ parameters }: Body, { text, segments, words }: Transcript): unknown {
  const { return_timestamps } = checked(SpeechParametersSchema, parameters, 'parameters');
  if (!return_timestamps) return { text };
  const parts =
    return_timestamps === 'word'
      ? (words ?? []).map(({ word, ...times }) => ({ text: word, ...times }))
      : segments;
  return { text, chunks: parts.map((part) => ({ text: part.text, timestamp: [part.start, part.end] })) };
}
