/** The calls of each kind of task: the native request of a call, and the shape of its answer. */
import type { JobRequest, TextItem, TextJobType, Transcript } from '@lehr/shared';
import { refusal } from '../../base/field-problems.ts';
import { type InlineAudio, referenceTo } from '../../http/bodies/inline-audio.ts';
import { atTheTop, type Names, nativeRequest } from '../../jobs/requests/field-names.ts';
import type { PipelineShape } from '../text-shape.ts';
import {
  type Body,
  checked,
  inputsOf,
  PictureParametersSchema,
  parametersOf,
  refuseParameters,
  SpeechParametersSchema,
  TransformParametersSchema,
} from './fields.ts';

const TEXT_FIELDS: Readonly<Record<string, string>> = {
  '/input/function': '/parameters/function_to_apply',
  '/input/aggregation': '/parameters/aggregation_strategy',
};
/** Pointers into the body of a call. */
export const NAMES: Names = (pointer) =>
  TEXT_FIELDS[pointer] ?? pointer.replace(/^\/input\/texts/, '/inputs').replace(/^\/input\//, '/parameters/');

/** Throws `invalid-input`. */
export function textRequest(type: TextJobType, model: string | undefined, body: Body): JobRequest {
  const inputs = inputsOf(type, body);
  const texts = (Array.isArray(inputs) ? inputs : [inputs]).map(itemOf);
  return nativeRequest({ type, model, input: { texts, ...optionsOf(type, body) } } as never, NAMES);
}

const itemOf = (input: string | { text: string; text_pair?: string | undefined }): TextItem => {
  if (typeof input === 'string') return input;
  return input.text_pair === undefined ? input.text : { text: input.text, pair: input.text_pair };
};

function optionsOf(type: TextJobType, body: Body): Record<string, unknown> {
  switch (type) {
    case 'text-embedding': {
      const { normalize, truncate, dimensions } = parametersOf(type, body);
      return { normalize, truncate, dimensions };
    }
    case 'text-classification': {
      const { top_k, function_to_apply, truncation, truncate } = parametersOf(type, body);
      return { top_k, function: function_to_apply, truncate: truncate ?? truncation };
    }
    case 'fill-mask': {
      const { top_k, truncation, truncate } = parametersOf(type, body);
      return { top_k, truncate: truncate ?? truncation };
    }
    case 'token-classification': {
      const { aggregation_strategy, ignore_labels, truncation, truncate } = parametersOf(type, body);
      return { aggregation: aggregation_strategy, ignore_labels, truncate: truncate ?? truncation };
    }
  }
}

/** Throws `invalid-input`. */
export function shapeOf(type: TextJobType, body: Body): PipelineShape {
  const isEmbedding = type === 'text-embedding';
  const isTokens = type === 'token-classification';
  return {
    dialect: 'huggingface',
    type,
    isOne: !Array.isArray(body.inputs),
    format: (isEmbedding && parametersOf(type, body).encoding_format) || 'float',
    labelField:
      isTokens && parametersOf(type, body).aggregation_strategy === 'none' ? 'entity' : 'entity_group',
  };
}

const PICTURE_FIELDS: Readonly<Record<string, string>> = {
  '/prompt': '/inputs',
  '/steps': '/parameters/num_inference_steps',
  '/guidance': '/parameters/guidance_scale',
  '/sampler': '/parameters/scheduler',
};
const TOP = atTheTop();
export const PICTURE_NAMES: Names = (pointer) => {
  const field = TOP(pointer);
  return PICTURE_FIELDS[field] ?? `/parameters${field}`;
};

/** Throws `invalid-input`. */
export function pictureRequest(model: string | undefined, body: Body): JobRequest {
  const parameters = checked(PictureParametersSchema, body.parameters, 'parameters');
  const { num_inference_steps, guidance_scale, scheduler, ...same } = withoutNulls(parameters);
  const input = {
    ...same,
    prompt: body.inputs,
    steps: num_inference_steps,
    guidance: guidance_scale,
    sampler: scheduler,
  };
  return nativeRequest({ type: 'text-to-image', model, input } as never, PICTURE_NAMES);
}

const withoutNulls = <Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]: NonNullable<Fields[Name]> | undefined } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as never;

export const SPEECH_NAMES: Names = (pointer) =>
  pointer === '/input/audio'
    ? '/inputs'
    : pointer
        .replace('/input/timestamps', '/parameters/return_timestamps')
        .replace(/^\/input\//, '/parameters/generation_parameters/');

/** The audio or the picture of a JSON body, which is base64. Throws `invalid-input`. */
export function mediaOf(type: 'speech-to-text' | 'picture-transform', { inputs }: Body): InlineAudio {
  if (typeof inputs !== 'string' || inputs === '') {
    const detail = `must be ${type === 'speech-to-text' ? 'audio' : 'a picture'} in base64`;
    throw refusal('invalid-input', [{ pointer: '/inputs', detail }]);
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

export const TRANSFORM_NAMES: Names = (pointer) =>
  pointer === '/input/image' ? '/inputs' : pointer.replace(/^\/input\//, '/parameters/');

/** The picture is the first one of the request's inline media. Throws `invalid-input`. */
export function transformRequest(model: string | undefined, body: Body, { bytes }: InlineAudio): JobRequest {
  refuseParameters(body, ['target_size', 'function_to_apply']);
  const fields = checked(TransformParametersSchema, body.parameters, 'parameters');
  const input = { ...fields, image: referenceTo(0, bytes) };
  return nativeRequest({ type: 'picture-transform', model, input } as never, TRANSFORM_NAMES);
}
