/** Maps inputs between Replicate's field names and the native ones. */
import type { JobRecord } from '@lehr/shared/records';
import { refusal } from '../../base/field-problems.ts';
import { presentInput } from '../../jobs/present-nodes.ts';
import type { Names } from '../../jobs/requests/field-names.ts';
import type { WantedModel } from './wanted-model.ts';

const PICTURE = {
  prompt: 'prompt',
  negative_prompt: 'negative_prompt',
  prompt_syntax: 'prompt_syntax',
  clip_skip: 'clip_skip',
  adapters: 'adapters',
  control: 'control',
  width: 'width',
  height: 'height',
  num_outputs: 'n',
  num_inference_steps: 'steps',
  guidance_scale: 'guidance',
  seed: 'seed',
  output_format: 'output_format',
  image: 'image',
  mask: 'mask',
  prompt_strength: 'strength',
};
const SPEECH = {
  audio: 'audio',
  task: 'task',
  language: 'language',
  prompt: 'prompt',
  temperature: 'temperature',
};
const TRANSFORM = {
  image: 'image',
  scale: 'scale',
  output: 'output',
  top_k: 'top_k',
  output_format: 'output_format',
};
/** The fields of the text tasks have the native names. */
const fieldsOf = (...names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, name]));
const TEXT = {
  'text-embedding': fieldsOf('texts', 'truncate', 'normalize', 'dimensions'),
  'text-classification': fieldsOf('texts', 'truncate', 'top_k', 'function'),
  'fill-mask': fieldsOf('texts', 'truncate', 'top_k'),
  'token-classification': fieldsOf('texts', 'truncate', 'aggregation', 'ignore_labels'),
};
/** Native field name by Replicate's name: every field that a request may have. */
export const NATIVE: Readonly<Record<WantedModel['type'], Readonly<Record<string, string>>>> = {
  'text-to-image': PICTURE,
  'speech-to-text': SPEECH,
  'speech-to-image': { ...PICTURE, ...SPEECH },
  'picture-transform': TRANSFORM,
  ...TEXT,
};
const REPLICATE_NAMES = new Map(
  Object.entries(Object.assign({}, PICTURE, SPEECH, TRANSFORM, ...Object.values(TEXT))).map(
    ([name, native]) => [native, name],
  ),
);

/**
 * Throws `invalid-input` with every unknown name and without its value: a known client bug sends the client object, API key
 * included, as the input.
 */
export function nativeInput(
  input: Readonly<Record<string, unknown>>,
  type: WantedModel['type'],
): Record<string, unknown> {
  const known = NATIVE[type];
  const unknown = Object.keys(input).filter((name) => !Object.hasOwn(known, name));
  if (unknown.length > 0) {
    throw refusal(
      'invalid-input',
      unknown.map((name) => ({ pointer: `/input/${name}`, detail: 'is not a known field' })),
    );
  }
  const given = Object.entries(input).filter(([, value]) => value !== null);
  return Object.fromEntries(given.map(([name, value]) => [known[name] ?? name, value]));
}

export const NAMES: Names = (pointer) => {
  const [, field, rest = ''] = /^\/input\/([^/]*)(.*)$/.exec(pointer) ?? [];
  return field === undefined ? pointer : `/input/${REPLICATE_NAMES.get(field) ?? field}${rest}`;
};

/** The input as a prediction shows it, defaults included; `url` makes the links. */
export function shownInput(record: JobRecord, url: (path: string) => string): Record<string, unknown> {
  const fields = Object.entries(presentInput(record, url)).flatMap(([native, value]) => {
    const name = REPLICATE_NAMES.get(native);
    return name === undefined || value === null ? [] : [[name, value] as const];
  });
  return Object.fromEntries(fields);
}
