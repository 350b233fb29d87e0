/** What a unit of the extension sd-webui-controlnet may say, and which of it Lehr serves. */
import type { FieldProblem } from '@lehr/shared';
import { z } from 'zod';
import type { PictureSize } from '../../jobs/picture-header.ts';
import { NOT_SERVED } from './picture-contract.ts';

const flag = z.boolean().nullish();
const number = z.number().nullish();
const choice = z.union([z.string(), z.number()]).nullish();

/** Of both generations of the extension: `input_image`, `guidance` and `lowvram` are the older names. */
export const ControlUnitSchema = z.looseObject({
  enabled: flag,
  model: z.string().nullish(),
  module: z.string().nullish(),
  image: z.unknown().optional(),
  input_image: z.unknown().optional(),
  weight: number,
  guidance_start: number,
  guidance_end: number,
  guidance: number,
  resize_mode: choice,
  control_mode: choice,
  pixel_perfect: flag,
  processor_res: number,
  threshold_a: number,
  threshold_b: number,
  hr_option: choice,
  inpaint_crop_input_image: flag,
});
export type ControlUnit = z.output<typeof ControlUnitSchema>;

/** What the native control takes, and what changes no picture: memory, and pictures that are sent or kept beside the result. */
const TAKEN = [
  ...[
    'enabled',
    'model',
    'module',
    'image',
    'input_image',
    'weight',
    'guidance_start',
    'guidance_end',
    'guidance',
  ],
  ...['low_vram', 'lowvram', 'pixel_perfect', 'save_detected_map', 'is_ui', 'output_dir'],
  // Of other kinds of models than Lehr has.
  ...['pulid_mode', 'union_control_type'],
];

/** What the drawing of a unit depends on beside it. */
export interface UnitScene {
  /** Of the picture that is drawn, and of the one that guides it, where they are known. */
  readonly size: PictureSize | undefined;
  readonly picture: PictureSize | undefined;
  /** Only the part around a mask is drawn. */
  readonly isCropped: boolean;
}

/** Canny's thresholds are from 1 to 255; for a value outside, such as -1, the extension takes its default, which is that of Lehr. */
const isThreshold = (value: number, wanted: number): boolean => value === wanted || value < 1 || value > 255;

/** The pixels of the shorter side when edges are found, from 64 to 2048 and 512 by default. Lehr finds them at the size of the job. */
const isResolution = (value: number): boolean => value === 512 || value < 64 || value > 2048;

const STRETCH = [0, 3, 'Just Resize'];
const CROP = [1, 'Crop and Resize', 'Inner Fit (Scale to Fit)', 'Scale to Fit (Inner Fit)'];

/** The fields that ask for what Lehr would draw otherwise, with `pointer`s below the unit. */
export function unitProblems(unit: ControlUnit, scene: UnitScene): FieldProblem[] {
  const { control_mode, hr_option, processor_res, threshold_a, threshold_b, module } = unit;
  const isCanny = module?.toLowerCase() === 'canny';
  const checks: Readonly<Record<string, string | undefined>> = {
    control_mode: unless([0, 'Balanced'].includes(control_mode ?? 0), 'must be 0 (Balanced)'),
    hr_option: unless([0, 'Both'].includes(hr_option ?? 0), 'must be Both: it guides both passes'),
    processor_res: unless(
      !isCanny || unit.pixel_perfect === true || isResolution(processor_res ?? -1),
      'must be 512, or left out: edges are found at the size of the job, as with `pixel_perfect`',
    ),
    threshold_a: unless(!isCanny || isThreshold(threshold_a ?? -1, 100), 'must be 100, or left out'),
    threshold_b: unless(!isCanny || isThreshold(threshold_b ?? -1, 200), 'must be 200, or left out'),
    resize_mode: resizeProblem(unit.resize_mode ?? 1, scene),
    inpaint_crop_input_image: unless(
      !scene.isCropped || unit.inpaint_crop_input_image === false,
      'must be false with inpaint_full_res: the whole picture guides the part around the mask',
    ),
  };
  const others = Object.keys(unit)
    .filter((name) => !TAKEN.includes(name) && !Object.hasOwn(checks, name))
    .filter((name) => !isIdle(unit[name]) && !(name === 'input_mode' && unit[name] === 'simple'));
  return [
    ...Object.entries(checks).flatMap(([name, detail]) =>
      detail === undefined ? [] : [{ pointer: `/${name}`, detail }],
    ),
    ...others.map((name) => ({ pointer: `/${segment(name)}`, detail: NOT_SERVED })),
  ];
}

const unless = (isFine: boolean, detail: string): string | undefined => (isFine ? undefined : detail);

/** A name as a part of a JSON pointer. */
export const segment = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** A value that asks for nothing. */
export const isIdle = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/** Lehr stretches the picture. Where the shapes are the same, all modes do. */
function resizeProblem(mode: string | number, { size, picture }: UnitScene): string | undefined {
  if (STRETCH.includes(mode)) return undefined;
  if (!size || !picture) {
    return CROP.includes(mode) ? undefined : 'must be 0 (Just Resize): Lehr stretches the picture';
  }
  const factor = Math.max(size.width / picture.width, size.height / picture.height);
  const isSame =
    Math.round(picture.width * factor) === size.width && Math.round(picture.height * factor) === size.height;
  return isSame
    ? undefined
    : `must be 0 (Just Resize): Lehr stretches the picture of ${picture.width}x${picture.height} to ${size.width}x${size.height}`;
}
