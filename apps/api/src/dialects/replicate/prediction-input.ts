/** Inputs under Replicate's names, into native requests and back. */
import type { JobRecord } from '@lehr/shared/records';
import type { Names } from '../../calls/names.ts';
import { refusal } from '../../field-problems.ts';
import { presentInput } from '../../jobs/present-nodes.ts';
import type { WantedModel } from './wanted-model.ts';

const PICTURE = {
  prompt: 'prompt',
  negative_prompt: 'negative_prompt',
  width: 'width',
  height: 'height',
  num_outputs: 'n',
  num_inference_steps: 'steps',
  guidance_scale: 'guidance',
  seed: 'seed',
  output_format: 'output_format',
};
const SPEECH = {
  audio: 'audio',
  task: 'task',
  language: 'language',
  prompt: 'prompt',
  temperature: 'temperature',
};
/** Replicate's name to the native one: all that may be asked for. */
const NATIVE: Readonly<Record<WantedModel['type'], Readonly<Record<string, string>>>> = {
  'text-to-image': PICTURE,
  'speech-to-text': SPEECH,
  'speech-to-image': { ...PICTURE, ...SPEECH },
};
const SHOWN = new Map(Object.entries({ ...PICTURE, ...SPEECH }).map(([theirs, native]) => [native, theirs]));

/**
 * Throws `invalid-input` for every unknown name, without a word of its value: a client with a bug sends itself as the input, its
 * key included.
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
  return field === undefined ? pointer : `/input/${SHOWN.get(field) ?? field}${rest}`;
};

/** As the prediction shows it: every field decided, links made with `url`. */
export function shownInput({ input }: JobRecord, url: (path: string) => string): Record<string, unknown> {
  const fields = Object.entries(presentInput(input, url)).flatMap(([native, value]) => {
    const theirs = SHOWN.get(native);
    return theirs === undefined || value === null ? [] : [[theirs, value] as const];
  });
  return Object.fromEntries(fields);
}
