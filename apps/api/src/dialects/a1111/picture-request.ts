/** The native request of txt2img and img2img. */
import {
  type DiffusionModelEntry,
  type FieldProblem,
  type JobRequest,
  LehrError,
  PLAIN_UPSCALERS,
  type Registry,
} from '@lehr/shared';
import { refusal } from '../../base/field-problems.ts';
import type { InlineAudio } from '../../http/bodies/inline-audio.ts';
import { type Names, nativeRequest } from '../../jobs/requests/field-names.ts';
import { segment } from './control-fields.ts';
import { controlsOf, isControlNet } from './control-units.ts';
import { modelOf } from './options.ts';
import { type Edit, NOT_SERVED, nativeImage, type WithoutEffect } from './picture-contract.ts';
import { samplerOf } from './samplers.ts';

const STRENGTH = 0.75;

interface PictureScene {
  readonly begin: 'noise' | 'picture';
  readonly checkpoint: string | undefined;
  /** Pictures that were taken out of the body. */
  readonly inline: readonly InlineAudio[];
}

/** `checkpoint` is the model that is wanted. Throws `invalid-input`, and `not-found` and `model-not-found` for what does not exist. */
export function pictureRequest(
  registry: Registry,
  body: Edit,
  { begin, checkpoint, inline }: PictureScene,
): { readonly request: JobRequest; readonly names: Names } {
  refuseUnserved(body);
  const { model, entry } = modelOf(registry, checkpoint);
  const {
    prompt = '',
    negative_prompt,
    width,
    height,
    steps,
    cfg_scale,
    seed,
    batch_size = 1,
    n_iter = 1,
  } = body;
  const input = {
    // An empty prompt is a prompt here: that of a picture which is only to be changed a little.
    prompt: prompt === '' ? ' ' : prompt,
    negative_prompt,
    width,
    height,
    steps,
    guidance: cfg_scale,
    seed: seed === -1 ? undefined : seed,
    sampler: samplerOf(entry, body.sampler_name || body.sampler_index, body.scheduler),
    n: batch_size * n_iter,
    prompt_syntax: 'weighted' as const,
    clip_skip: clipSkipOf(body, entry),
    ...(begin === 'picture' && beginOf(body)),
    ...(begin === 'noise' && body.enable_hr && { hires: hiresOf(body) }),
  };
  const { control, names } = controlsOf(body.alwayson_scripts, {
    model: entry,
    inline,
    ...controlScene(body, entry, begin),
  });
  const guided = { ...input, ...(control.length > 0 && { control: [...control] }) };
  return { request: nativeRequest({ type: 'text-to-image', model, input: guided }, names), names };
}

function controlScene(body: Edit, { defaults }: DiffusionModelEntry, begin: PictureScene['begin']) {
  const { init_images: [first] = [], mask, inpaint_full_res: full } = body;
  const { width = defaults.width, height = defaults.height } = body;
  // Without a width and a height, a picture that begins at another one gets the size of that.
  const isKnown = begin === 'noise' || (body.width !== undefined && body.height !== undefined);
  return {
    size: isKnown ? { width, height } : undefined,
    begin: begin === 'picture' && first ? nativeImage(first) : undefined,
    isCropped: begin === 'picture' && Boolean(mask) && full !== false && full !== 0,
  };
}

/** Clients send 1 for "nothing", and the web UI reads it of the first generation only. */
function clipSkipOf(
  { override_settings, clip_skip }: Edit,
  { family }: DiffusionModelEntry,
): number | undefined {
  const layer = override_settings?.CLIP_stop_at_last_layers ?? clip_skip ?? 1;
  return layer === 1 || family.startsWith('sdxl') ? undefined : layer;
}

function hiresOf({ hr_scale, hr_second_pass_steps, hr_upscaler, denoising_strength }: Edit) {
  // The web UI writes Latent and Lanczos; models have the names that they have here.
  const plain = PLAIN_UPSCALERS.find((each) => each === hr_upscaler?.toLowerCase());
  return {
    scale: hr_scale,
    steps: hr_second_pass_steps || undefined,
    strength: denoising_strength,
    upscaler: plain ?? (hr_upscaler || undefined),
  };
}

const beginOf = (body: Edit) => ({
  image: initImageOf(body),
  strength: body.denoising_strength ?? STRENGTH,
  ...(body.mask && maskOf(body, body.mask)),
});

const MASK_BLUR = 4;
const NOISE = 2;

const maskOf = (body: Edit, mask: string) => ({
  mask: nativeImage(mask),
  mask_invert: body.inpainting_mask_invert === 1 ? true : undefined,
  mask_blur: body.mask_blur ?? MASK_BLUR,
  mask_fill: body.inpainting_fill === NOISE ? ('latent_noise' as const) : ('original' as const),
  ...(body.inpaint_full_res !== false &&
    body.inpaint_full_res !== 0 && { only_masked: { padding: body.inpaint_full_res_padding ?? 0 } }),
});

function initImageOf({ init_images: [first] = [] }: Edit): string {
  if (first === undefined || first === '') throw new LehrError('not-found', 'Init image not found');
  return nativeImage(first);
}

/** What clients send for no name. */
const NO_NAMES = ['', 'none', 'use same checkpoint'];

function refuseUnserved(body: Edit & WithoutEffect): void {
  const isOn = ['restore_faces', 'tiling'] as const;
  const isAbove0 = [
    'subseed_strength',
    's_churn',
    'seed_resize_from_w',
    'seed_resize_from_h',
    'hr_resize_x',
    'hr_resize_y',
  ] as const;
  const isNamed = ['refiner_checkpoint', 'script_name', 'hr_checkpoint_name'] as const;
  const fields = [
    ...isOn.filter((name) => body[name] === true),
    ...isAbove0.filter((name) => (body[name] ?? 0) > 0),
    ...isNamed.filter((name) => !NO_NAMES.includes((body[name] ?? '').toLowerCase())),
    ...Object.entries(body.alwayson_scripts ?? {})
      .filter(([name, script]) => !isControlNet(name) && isActive(script))
      .map(([name]) => `alwayson_scripts/${segment(name)}`),
  ];
  const problems: FieldProblem[] = fields.map((name) => ({ pointer: `/${name}`, detail: NOT_SERVED }));
  if (hasExtraNetwork(body.prompt) || hasExtraNetwork(body.negative_prompt)) {
    problems.push({
      pointer: '/prompt',
      detail: 'names an extra network that Lehr does not have; it has those of <lora:...>',
    });
  }
  if (problems.length > 0) throw refusal('invalid-input', problems);
}

/** Clients send the scripts that they know also when they are off: without arguments, or with false as the first one. */
function isActive(script: unknown): boolean {
  const { args } = (script ?? {}) as { readonly args?: unknown };
  return Array.isArray(args) ? args.length > 0 && args[0] !== false : args !== undefined;
}

const hasExtraNetwork = (prompt = ''): boolean => /<(?:lyco|hypernet):[^<>]{1,200}>/i.test(prompt);
