/**
 * The text in which the web UI keeps how a picture was made: in the PNG under `parameters`, in answers, and in what users paste.
 *
 *   a red circle
 *   Negative prompt: green
 *   Steps: 20, Sampler: Euler a, Schedule type: Automatic, CFG scale: 7, Seed: 7, Size: 512x512, Model: tiny
 */
import { type Control, isPlainUpscaler, type TextToImageInput } from '@lehr/shared';
import { webUiNames } from './samplers.ts';

/** The keyword in a PNG. */
export const PARAMETERS = 'parameters';
const NEGATIVE = 'Negative prompt:';

/** `model`: its name, or `name@version`. */
export function infotextOf(input: TextToImageInput, seed: number | undefined, model: string): string {
  const { name, scheduler } = webUiNames(input.sampler);
  const fields: readonly (readonly [string, string | number | undefined])[] = [
    ['Steps', input.steps],
    ['Sampler', name],
    ['Schedule type', scheduler],
    ['CFG scale', input.guidance],
    ['Seed', seed],
    ['Size', `${input.width}x${input.height}`],
    ['Model', model],
    ['Denoising strength', input.hires?.strength ?? input.strength],
    ['Clip skip', input.clip_skip],
    ['Mask blur', input.mask && input.mask_blur],
    ['Inpaint area', input.only_masked && 'Only masked'],
    ['Masked area padding', input.only_masked?.padding],
    ['Hires upscale', input.hires?.scale],
    ['Hires steps', input.hires?.steps],
    ['Hires upscaler', input.hires && upscalerName(input.hires.upscaler)],
    ...(input.control ?? []).map((each, i) => [`ControlNet ${i}`, unitText(each)] as const),
  ];
  const known = fields.flatMap(([field, value]) =>
    value === undefined ? [] : [`${field}: ${quoted(value)}`],
  );
  const negative = input.negative_prompt === '' ? [] : [`${NEGATIVE} ${input.negative_prompt}`];
  return [promptOf(input), ...negative, known.join(', ')].join('\n').trim();
}

/** As a client of the web UI writes it: adapters are tags in the prompt there, and a field here. */
export const promptOf = ({ prompt, adapters = [] }: Pick<TextToImageInput, 'prompt' | 'adapters'>): string =>
  [prompt, ...adapters.map(({ name, scale }) => `<lora:${name}:${scale}>`)].join(' ').trim();

/** As the web UI writes it, and the name of a model without its version. */
const upscalerName = (upscaler: string): string =>
  isPlainUpscaler(upscaler) ? upscaler[0].toUpperCase() + upscaler.slice(1) : upscaler.split('@')[0];

/** A unit as its extension writes it, with the numbers as Python does and without fields that have no meaning for it. */
function unitText({ name, scale, start, end, preprocess = 'none' }: Control): string {
  const [module] = preprocess.split('@');
  const thresholds: Readonly<Record<string, number>> =
    module === 'canny' ? { 'Threshold A': 100, 'Threshold B': 200 } : {};
  const fields: Readonly<Record<string, string | number>> = {
    Module: module,
    Model: name,
    Weight: scale,
    'Resize Mode': 'Just Resize',
    ...thresholds,
    'Guidance Start': start,
    'Guidance End': end,
    'Pixel Perfect': 'True',
    'Control Mode': 'Balanced',
  };
  const python = (value: string | number) => (Number.isInteger(value) ? `${value}.0` : value);
  return Object.entries(fields)
    .map(([field, value]) => `${field}: ${python(value)}`)
    .join(', ');
}

/** As JSON when it has a character that separates fields. */
const quoted = (value: string | number): string =>
  /[,\n:]/.test(String(value)) ? JSON.stringify(value) : String(value);

/** 20261128150000: how the web UI writes a time. */
export const timestampOf = (ms: number): string => new Date(ms).toISOString().replace(/\D/g, '').slice(0, 14);

/** A last line with fewer fields belongs to the prompt. */
const LEAST_FIELDS = 3;

/** The fields of such a text, as the web UI reads it: the prompts, and what its last line says. A size has two fields. */
export function parseInfotext(text: string): Record<string, string> {
  const lines = text.trim().split('\n');
  const fields = fieldsIn(lines.at(-1) ?? '');
  const hasFields = fields.length >= LEAST_FIELDS;
  const prompts = (hasFields ? lines.slice(0, -1) : lines).map((line) => line.trim());
  const negativeAt = prompts.findIndex((line) => line.startsWith(NEGATIVE));
  const negative = negativeAt < 0 ? [] : prompts.slice(negativeAt);
  return {
    Prompt: (negativeAt < 0 ? prompts : prompts.slice(0, negativeAt)).join('\n'),
    'Negative prompt': negative.join('\n').slice(NEGATIVE.length).trim(),
    ...(hasFields && Object.fromEntries(fields.flatMap(withSides))),
  };
}

function withSides([field, value]: readonly [string, string]): (readonly [string, string])[] {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(value) ?? [];
  return width === undefined || height === undefined
    ? [[field, value]]
    : [
        [`${field}-1`, width],
        [`${field}-2`, height],
      ];
}

/** In one pass, since the line comes from a file of the caller. */
function fieldsIn(line: string): (readonly [string, string])[] {
  return piecesOf(line).flatMap((piece) => {
    const colon = piece.indexOf(':');
    const field = piece.slice(0, Math.max(colon, 0)).trim();
    return /^\w[\w /-]*$/.test(field) ? [[field, unquoted(piece.slice(colon + 1).trim())] as const] : [];
  });
}

/** Split at the commas outside of quotes. */
function piecesOf(line: string): string[] {
  const pieces: string[] = [];
  let isQuoted = false;
  let start = 0;
  for (let at = 0; at < line.length; at++) {
    if (isQuoted && line[at] === '\\') at++;
    else if (line[at] === '"') isQuoted = !isQuoted;
    else if (line[at] === ',' && !isQuoted) {
      pieces.push(line.slice(start, at));
      start = at + 1;
    }
  }
  return [...pieces, line.slice(start)];
}

function unquoted(value: string): string {
  if (!value.startsWith('"')) return value;
  try {
    return String(JSON.parse(value));
  } catch {
    return value;
  }
}
