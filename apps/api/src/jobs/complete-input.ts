/** Fills in the defaults of a picture request and checks it against the limits of its model. */
import { randomInt } from 'node:crypto';
import {
  type DiffusionModelEntry,
  FAMILY_TRAITS,
  type FieldProblem,
  LehrError,
  leastSteps,
  MAX_SEED,
  type ModelEntry,
  passesOf,
  pictureReference,
  type SafetyMode,
  SIZE_FIELDS,
  safetyModeOf,
  stepsMade,
  type TextToImageInput,
  type TextToImageRequest,
} from '@lehr/shared';
import { refusal } from '../base/field-problems.ts';
import { completeAdapters } from './complete-adapters.ts';
import { editedSize, editFields, editProblems, strengthOf } from './complete-edit.ts';
import { completeHires, hiresProblems } from './complete-hires.ts';
import type { PictureSize } from './picture-header.ts';

/** `picture` is the size of its image, where it is known. Throws `invalid-input` with every field that the model refuses, and what it allows. */
export function completeInput(
  request: TextToImageRequest,
  model: DiffusionModelEntry,
  picture?: PictureSize,
): TextToImageInput {
  const edited = editedSize(request, picture);
  const own = edited && isPossible(edited, model) ? edited : model.defaults;
  const strength = strengthOf(request, model);
  const reading = readingOf(request, model);
  const adapted = completeAdapters(request, model, reading.prompt_syntax ?? 'plain');
  const { prompt, adapters } = adapted.fields;
  // What is copied comes last: V8 makes a hidden class for each object that gets fields after a copy.
  const first: TextToImageInput = {
    prompt,
    negative_prompt: request.negative_prompt ?? '',
    width: request.width ?? own.width,
    height: request.height ?? own.height,
    steps: request.steps ?? defaultSteps(model, strength),
    guidance: roundGuidance(request.guidance ?? model.defaults.guidance),
    // Chosen here and not by the worker, so that the record is enough to draw the same picture again.
    seed: request.seed ?? randomInt(MAX_SEED + 1),
    sampler: request.sampler ?? model.defaults.sampler,
    n: request.n ?? 1,
    output_format: request.output_format ?? 'png',
    embed_prompt: request.embed_prompt ?? false,
    ...(adapters && { adapters }),
    ...reading,
    ...sizesOf(request),
    ...(strength !== undefined && { strength }),
    ...windowOf(request),
    ...editFields(request),
  };
  const hires = completeHires(request, first, model);
  const input: TextToImageInput = hires ? { ...first, hires } : first;
  let problems = [
    ...sizeProblems(input, model),
    ...runProblems(input, model),
    ...conditionProblems(input, model),
    ...clipSkipProblems(input, model),
    ...pictureProblems(request, input, model),
    ...windowProblems(request),
    ...hiresProblems(input, model),
    ...editProblems(request, model),
    ...adapted.problems,
  ];
  if (problems.length === 0) problems = workProblems(input, model);
  if (problems.length > 0) throw refusal('invalid-input', problems);
  return input;
}

/** How the prompts are read, where it is not the family's way. */
function readingOf(request: TextToImageRequest, { family, defaults }: DiffusionModelEntry) {
  const syntax = request.prompt_syntax ?? defaults.prompt_syntax;
  const clipSkip = request.clip_skip ?? defaults.clip_skip;
  return {
    ...(syntax !== 'plain' && { prompt_syntax: syntax }),
    ...(clipSkip !== FAMILY_TRAITS[family].defaults.clip_skip && { clip_skip: clipSkip }),
  };
}

/** Stored only where the caller gave them. */
const sizesOf = ({ original_size, crops_coords_top_left, target_size }: TextToImageRequest) => ({
  ...(original_size && { original_size }),
  ...(crops_coords_top_left && { crops_coords_top_left }),
  ...(target_size && { target_size }),
});

/** Where the whole schedule is meant, nothing is stored. */
const windowOf = ({ denoising_start: start = 0, denoising_end: end = 1 }: TextToImageRequest) => ({
  ...(start > 0 && { denoising_start: start }),
  ...(end < 1 && { denoising_end: end }),
});

function windowProblems(request: TextToImageRequest): FieldProblem[] {
  const { image, strength, denoising_start: start = 0, denoising_end: end = 1 } = request;
  const problems: FieldProblem[] = [];
  if (start > 0 && image === undefined) {
    problems.push({ pointer: '/input/denoising_start', detail: 'needs an image, which the steps begin at' });
  }
  if (start > 0 && strength !== undefined) {
    problems.push({ pointer: '/input/strength', detail: 'cannot be given beside denoising_start' });
  }
  if (end > start) return problems;
  return [
    ...problems,
    {
      pointer: '/input/denoising_end',
      detail: `is ${end}, must be above denoising_start, which is ${start}`,
    },
  ];
}

/** Those of the model, and for a small strength as many as make one step: a Turbo model draws in one, of which nothing would be left. */
const defaultSteps = ({ defaults, limits }: DiffusionModelEntry, strength = 1): number =>
  Math.min(Math.max(defaults.steps, strength > 0 ? Math.ceil(1 / strength) : 1), limits.max_steps);

function pictureProblems(
  { image, strength }: TextToImageRequest,
  input: TextToImageInput,
  { name, family, takesPictures }: DiffusionModelEntry,
): FieldProblem[] {
  if (image === undefined && FAMILY_TRAITS[family].needsPicture) {
    return [{ pointer: '/input/image', detail: `is missing: ${name} ${whyPicture(family)}` }];
  }
  if (image === undefined) {
    return strength === undefined ? [] : [{ pointer: '/input/strength', detail: 'needs an image' }];
  }
  if (takesPictures === false && pictureReference(image)?.field !== 'latent') {
    return [
      { pointer: '/input/image', detail: `cannot be used with ${name}, whose folder has no VAE encoder` },
    ];
  }
  // Where the schedule ends early does not change where the strength begins.
  const whole = { ...input, denoising_start: undefined, denoising_end: undefined };
  if (input.strength !== 0 && stepsMade(whole) > 0) return [];
  const detail = `must leave at least one step: ${input.steps} steps times strength must be at least 1; it is ${input.strength}`;
  return [{ pointer: '/input/strength', detail }];
}

const whyPicture = (family: DiffusionModelEntry['family']): string =>
  FAMILY_TRAITS[family].needsMask
    ? 'is an inpainting model, which draws a part of a picture'
    : 'is a refiner, which improves a picture';

function conditionProblems(input: TextToImageInput, { name, family }: DiffusionModelEntry): FieldProblem[] {
  const { sizes } = FAMILY_TRAITS[family];
  return SIZE_FIELDS.filter((field) => input[field] && !sizes.includes(field)).map((field) => ({
    pointer: `/input/${field}`,
    detail: `is for SDXL models, and ${name} is of the family ${family}`,
  }));
}

function clipSkipProblems(
  { clip_skip }: TextToImageInput,
  { name, family }: DiffusionModelEntry,
): FieldProblem[] {
  const least = FAMILY_TRAITS[family].defaults.clip_skip;
  if (clip_skip === undefined || clip_skip >= least) return [];
  const detail = `is ${clip_skip}, must be at least ${least}: ${name} is of the family ${family}, which was trained with that layer`;
  return [{ pointer: '/input/clip_skip', detail }];
}

/** The seventh decimal is invisible in a picture, and names of aligned groups cannot hold 1e-7. */
const roundGuidance = (guidance: number): number => Math.round(guidance * 1e6) / 1e6;

function sizeProblems(input: TextToImageInput, { limits }: DiffusionModelEntry): FieldProblem[] {
  const problems = (['width', 'height'] as const)
    .filter((side) => !fits(input[side], limits))
    .map((side) => ({
      pointer: `/input/${side}`,
      detail: `is ${input[side]}, must be a multiple of ${limits.size_step} from ${limits.min_size} to ${limits.max_size}`,
    }));
  const pixels = input.width * input.height;
  if (problems.length > 0 || pixels <= limits.max_pixels) return problems;
  const detail = `makes ${input.width}x${input.height} = ${pixels} pixels, at most ${limits.max_pixels} are allowed`;
  return ['/input/width', '/input/height'].map((pointer) => ({ pointer, detail }));
}

const isPossible = ({ width, height }: PictureSize, { limits }: DiffusionModelEntry): boolean =>
  fits(width, limits) && fits(height, limits) && width * height <= limits.max_pixels;

const fits = (side: number, { min_size, max_size, size_step }: DiffusionModelEntry['limits']): boolean =>
  side >= min_size && side <= max_size && side % size_step === 0;

/** Fields within their own limits can still be too much work together. */
function workProblems(input: TextToImageInput, { limits }: DiffusionModelEntry): FieldProblem[] {
  const { n } = input;
  const passes = passesOf(input);
  const work = passes.reduce((sum, pass) => sum + pass.width * pass.height * n * stepsMade(pass), 0);
  if (work <= limits.max_work) return [];
  const made = passes.map((pass) => `${pass.width}x${pass.height} pixels in ${stepsMade(pass)} steps`);
  const pictures = `${n} ${n === 1 ? 'picture' : 'pictures'} of ${made.join(' and then ')}`;
  const detail = `is too much work for one job: ${pictures} are ${inWords(work)} pixel steps, at most ${inWords(limits.max_work)} are allowed`;
  return [{ pointer: '/input', detail }];
}

/** As people say it: 52 million. */
const inWords = (count: number): string =>
  new Intl.NumberFormat('en', { notation: 'compact', compactDisplay: 'long' }).format(count);

function runProblems(
  input: TextToImageInput,
  { name, limits, samplers, isTrailing }: DiffusionModelEntry,
): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const least = leastSteps(input.sampler, isTrailing);
  if (input.steps < least) {
    problems.push({
      pointer: '/input/steps',
      detail: `is ${input.steps}, must be at least ${least} with ${input.sampler} on ${name}`,
    });
  }
  if (input.steps > limits.max_steps) {
    problems.push({
      pointer: '/input/steps',
      detail: `is ${input.steps}, must be at most ${limits.max_steps}`,
    });
  }
  if (input.n > limits.max_samples) {
    problems.push({ pointer: '/input/n', detail: `is ${input.n}, must be at most ${limits.max_samples}` });
  }
  if (!samplers.includes(input.sampler)) {
    problems.push({
      pointer: '/input/sampler',
      detail: `is ${input.sampler}, must be one of: ${samplers.join(', ')}`,
    });
  }
  return problems;
}

/**
 * What is done with pictures that are found unsafe, by the model and the key of the job; nothing where they are not checked. Throws
 * `forbidden` when the key wants them checked, and the model cannot have that.
 */
export function safetyFields(model: ModelEntry, ofKey: SafetyMode | null): Pick<TextToImageInput, 'safety'> {
  if (model.task !== 'diffusion') return {};
  if (!model.safety) {
    if (ofKey === null || ofKey === 'off') return {};
    throw new LehrError(
      'forbidden',
      `This key makes only pictures that are checked (safety: ${ofKey}), and the model ${model.name} has no safety in models.yaml.`,
    );
  }
  const mode = safetyModeOf(model.safety, ofKey);
  return mode === 'off' ? {} : { safety: mode };
}
