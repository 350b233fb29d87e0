/** Fills in the defaults of a second pass and checks it against the limits of its model. */
import {
  companionRef,
  type DiffusionModelEntry,
  type FieldProblem,
  formatModelRef,
  type Hires,
  isPlainUpscaler,
  PLAIN_UPSCALERS,
  passesOf,
  type Registry,
  stepsMade,
  type TextToImageInput,
  type TextToImageRequest,
} from '@lehr/shared';
import { refusal } from '../base/field-problems.ts';
import { isEdit } from './complete-edit.ts';

const DEFAULT_SCALE = 2;
/** An interpolated latent is blurred, and its details are drawn anew; enlarged pixels need less. */
const DEFAULT_STRENGTH = { latent: 0.7, pixels: 0.4 };

/**
 * The upscaler that a request names, a model at the version that is open beside the one that draws, as `name@version`. Throws `invalid-input`
 * for one that the entry of the model that draws does not list.
 */
export function resolveUpscaler(
  registry: Registry,
  { upscalers }: DiffusionModelEntry,
  wanted: string,
): string {
  if (isPlainUpscaler(wanted)) return wanted;
  const [, version] = wanted.split('@');
  const name = registry.named(wanted)?.name;
  const open = upscalers.map((upscaler) => companionRef(registry, upscaler));
  const found = open.find((ref) => ref.name === name && ref.version === (version ?? ref.version));
  if (found) return formatModelRef(found);
  const detail = `must be one of: ${[...PLAIN_UPSCALERS, ...upscalers].join(', ')}`;
  throw refusal('invalid-input', [{ pointer: '/input/hires/upscaler', detail }]);
}

export function completeHires(
  request: TextToImageRequest,
  { width, height, steps }: Pick<TextToImageInput, 'width' | 'height' | 'steps'>,
  { limits }: DiffusionModelEntry,
): Hires | undefined {
  const { hires } = request;
  if (!hires) return undefined;
  // An edit has a VAE encoder, and an enlarged latent would be blurred beside what is kept.
  const { scale = DEFAULT_SCALE, upscaler = isEdit(request) ? 'lanczos' : 'latent' } = hires;
  const strength = hires.strength ?? DEFAULT_STRENGTH[upscaler === 'latent' ? 'latent' : 'pixels'];
  const enlarged = (side: number): number => Math.round((side * scale) / limits.size_step) * limits.size_step;
  // A Turbo model draws in one step, of which a strength would leave nothing.
  const least = strength > 0 ? Math.ceil(1 / strength) : 1;
  return {
    scale,
    steps: hires.steps ?? Math.min(Math.max(steps, least), limits.max_steps),
    strength,
    upscaler,
    width: enlarged(width),
    height: enlarged(height),
  };
}

export function hiresProblems(
  input: TextToImageInput,
  { name, limits, takesPictures }: DiffusionModelEntry,
): FieldProblem[] {
  const { hires } = input;
  if (!hires) return [];
  const { width, height, steps, strength, upscaler } = hires;
  const pixels = width * height;
  const size = `makes ${width}x${height} pixels`;
  const isTooLong = Math.max(width, height) > limits.max_size;
  const product = `${steps} steps times strength must be at least 1`;
  const rules: readonly [isBroken: boolean, field: string, detail: string][] = [
    [
      input.denoising_end !== undefined,
      '',
      'cannot be given beside denoising_end: a second pass begins at a clean picture',
    ],
    [isTooLong, '/scale', `${size}; a side may have at most ${limits.max_size}`],
    [
      !isTooLong && pixels > limits.max_pixels,
      '/scale',
      `${size}, which are ${pixels}; at most ${limits.max_pixels} are allowed`,
    ],
    [steps > limits.max_steps, '/steps', `is ${steps}, must be at most ${limits.max_steps}`],
    [
      passesOf(input).some((pass) => stepsMade(pass) === 0) || strength === 0,
      '/strength',
      `must leave at least one step: ${product}; it is ${strength}`,
    ],
    [
      upscaler !== 'latent' && takesPictures === false,
      '/upscaler',
      `is ${upscaler}, which needs a VAE encoder, and the folder of ${name} has none`,
    ],
  ];
  return rules
    .filter(([isBroken]) => isBroken)
    .map(([, field, detail]) => ({ pointer: `/input/hires${field}`, detail }));
}
