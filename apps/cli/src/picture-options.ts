import type { TextToImageInput } from '@lehr/client';
import { numberOf, type Options, type Values } from './command.ts';
import { usageError } from './exit-codes.ts';

/** The options of every command that draws a picture. */
export const PICTURE_OPTIONS = {
  negative: { type: 'string', value: 'TEXT', help: 'What the picture should not show.' },
  size: { type: 'string', short: 's', value: 'WxH', help: 'Size in pixels, such as 512x512.' },
  steps: { type: 'string', value: 'N', help: 'Number of denoising steps.' },
  guidance: { type: 'string', value: 'N', help: 'Guidance scale.' },
  seed: { type: 'string', value: 'N', help: 'Seed of the first picture.' },
  sampler: { type: 'string', value: 'NAME', help: 'Sampler, such as euler.' },
  syntax: { type: 'string', value: 'NAME', help: 'How prompts are read: plain, or weighted for (word:1.3).' },
  'clip-skip': { type: 'string', value: 'N', help: 'Layer of the text encoder from its end, 1 to 12.' },
  strength: { type: 'string', value: 'N', help: 'How far to differ from the given picture, 0 to 1.' },
  hires: { type: 'string', value: 'N', help: 'Add a second pass, N times as wide and high.' },
  'hires-steps': { type: 'string', value: 'N', help: 'Denoising steps of the second pass.' },
  'hires-strength': { type: 'string', value: 'N', help: 'How far it may change the picture, 0 to 1.' },
  'hires-upscaler': {
    type: 'string',
    value: 'NAME',
    help: 'What enlarges the picture for it, such as latent.',
  },
  adapter: {
    type: 'string',
    multiple: true,
    value: 'NAME[:N]',
    help: 'An adapter (LoRA) of the model, and how strongly it acts. May be repeated.',
  },
  control: {
    type: 'string',
    multiple: true,
    value: 'NAME=FILE[:N]',
    help: 'Guide the drawing by a picture and a ControlNet, N times as strong. May be repeated.',
  },
  count: { type: 'string', short: 'n', value: 'N', help: 'Number of pictures.' },
  format: { type: 'string', value: 'NAME', help: 'png, webp or jpeg. Default: png.' },
} as const satisfies Options;

/** The input fields of these options. */
export function pictureInput(values: Values<typeof PICTURE_OPTIONS>): Omit<TextToImageInput, 'prompt'> {
  const { negative, size, sampler, format } = values;
  const [, width, height] = /^(\d+)x(\d+)$/.exec(size ?? '') ?? [];
  if (size !== undefined && width === undefined) {
    throw usageError(`--size is ${JSON.stringify(size)}, expected WxH such as 512x512`);
  }
  return {
    negative_prompt: negative,
    width: numberOf('size', width),
    height: numberOf('size', height),
    steps: numberOf('steps', values.steps),
    guidance: numberOf('guidance', values.guidance),
    seed: numberOf('seed', values.seed),
    sampler: sampler as TextToImageInput['sampler'],
    prompt_syntax: values.syntax as TextToImageInput['prompt_syntax'],
    clip_skip: numberOf('clip-skip', values['clip-skip']),
    strength: numberOf('strength', values.strength),
    hires: hiresOf(values),
    adapters: adaptersOf(values.adapter),
    n: numberOf('count', values.count),
    output_format: format as TextToImageInput['output_format'],
  };
}

/** `NAME`, or `NAME:0.8`. */
function adaptersOf(texts: readonly string[] | undefined): TextToImageInput['adapters'] {
  return texts?.map((text) => {
    const [name, scale, ...more] = text.split(':');
    if (name !== '' && more.length === 0) return { name, scale: numberOf('adapter', scale) };
    throw usageError(`--adapter is ${JSON.stringify(text)}, expected NAME or NAME:0.8`);
  });
}

/** Each of its options asks for a second pass. */
function hiresOf(values: Values<typeof PICTURE_OPTIONS>): TextToImageInput['hires'] {
  const hires = {
    scale: numberOf('hires', values.hires),
    steps: numberOf('hires-steps', values['hires-steps']),
    strength: numberOf('hires-strength', values['hires-strength']),
    upscaler: values['hires-upscaler'] as NonNullable<TextToImageInput['hires']>['upscaler'],
  };
  return Object.values(hires).some((value) => value !== undefined) ? hires : undefined;
}
