/** The units of the extension sd-webui-controlnet, in `alwayson_scripts.controlnet.args` of a drawing call, and the native `control` of them. */
import {
  type ControlRequest,
  type DiffusionModelEntry,
  type FieldProblem,
  isPlainPreprocess,
  slugOf,
} from '@lehr/shared';
import { refusal } from '../../base/field-problems.ts';
import { decodeDataUri, type InlineAudio, referenceIn } from '../../http/bodies/inline-audio.ts';
import { bodyRefusal } from '../../http/middleware/validation.ts';
import { HEADER_BYTES, type PictureSize, pictureSize } from '../../jobs/picture-header.ts';
import type { Names } from '../../jobs/requests/field-names.ts';
import {
  type ControlUnit,
  ControlUnitSchema,
  isIdle,
  segment,
  type UnitScene,
  unitProblems,
} from './control-fields.ts';
import { controlName, NAMES } from './errors.ts';
import { type Edit, nativeImage } from './picture-contract.ts';

export const isControlNet = (script: string): boolean => script.toLowerCase() === 'controlnet';

export interface ControlScene extends Omit<UnitScene, 'picture'> {
  readonly model: Pick<DiffusionModelEntry, 'controls'>;
  /** Guides where a unit has no picture: the one that the drawing begins at. */
  readonly begin: string | undefined;
  /** Pictures that were taken out of the body. */
  readonly inline: readonly InlineAudio[];
}

interface Controls {
  readonly control: readonly ControlRequest[];
  /** Native pointers become those of the units, which may have others between them that are off. */
  readonly names: Names;
}

/** Throws `invalid-input` with every field that Lehr cannot serve. */
export function controlsOf(scripts: Edit['alwayson_scripts'], scene: ControlScene): Controls {
  const problems: FieldProblem[] = [];
  const units = unitsIn(scripts ?? {});
  const control = units.map(({ unit, at }) => {
    const image = pictureOf(unit, scene, at, problems);
    const picture = image === undefined ? undefined : sizeOf(image, scene.inline);
    for (const { pointer, detail } of unitProblems(unit, { ...scene, picture })) {
      problems.push({ pointer: `${at}${pointer}`, detail });
    }
    return {
      name: nameOf(unit.model ?? '', scene.model),
      image: image ?? '',
      scale: unit.weight ?? undefined,
      start: unit.guidance_start ?? undefined,
      end: unit.guidance_end ?? unit.guidance ?? undefined,
      preprocess: moduleOf(unit.module ?? ''),
    };
  });
  if (problems.length > 0) throw refusal('invalid-input', problems);
  const names: Names = (pointer) => controlName(pointer, (i) => units[i]?.at) ?? NAMES(pointer);
  return { control, names };
}

interface PlacedUnit {
  readonly unit: ControlUnit;
  /** The pointer to it. */
  readonly at: string;
}

/** Those that are on; a client sends the others, too. Throws `invalid-input`. */
function unitsIn(scripts: NonNullable<Edit['alwayson_scripts']>): PlacedUnit[] {
  return Object.entries(scripts).flatMap(([name, script]) => {
    if (!isControlNet(name) || isIdle(script)) return [];
    const at = `/alwayson_scripts/${segment(name)}/args`;
    const { args } = script as { readonly args?: unknown };
    if (!Array.isArray(args)) {
      throw refusal('invalid-input', [{ pointer: at, detail: 'must be a list of units' }]);
    }
    return args.flatMap((each, i) => {
      const unit = isIdle(each) ? undefined : parsed(each, `${at}/${i}`);
      return unit === undefined || unit.enabled === false ? [] : [{ unit, at: `${at}/${i}` }];
    });
  });
}

function parsed(value: unknown, at: string): ControlUnit {
  const { data, error } = ControlUnitSchema.safeParse(value);
  if (data) return data;
  const problems = bodyRefusal(error).problems;
  throw refusal(
    'invalid-input',
    problems.map(({ pointer, detail }) => ({ pointer: `${at}${pointer}`, detail })),
  );
}

/** A text, or with a mask beside it: `{image, mask}` or `[image, mask]`. */
function pictureOf(
  unit: ControlUnit,
  { begin }: ControlScene,
  at: string,
  problems: FieldProblem[],
): string | undefined {
  const field = isIdle(unit.image) && !isIdle(unit.input_image) ? 'input_image' : 'image';
  const given = unit[field];
  const [image, ...masks] = Array.isArray(given) ? given : [given];
  const { image: inner, mask, ...more } = typeof image === 'object' && image !== null ? image : { image };
  const fault = (detail: string) => void problems.push({ pointer: `${at}/${field}`, detail });
  if (![mask, ...Object.values(more), ...masks].every(isIdle)) fault('must be one picture without a mask');
  else if (isIdle(inner) && begin !== undefined) return begin;
  else if (isIdle(inner)) fault('is missing');
  else if (typeof inner !== 'string') fault('must be a picture in base64');
  else return nativeImage(inner);
  return undefined;
}

/** Of a picture in the body. */
function sizeOf(uri: string, inline: readonly InlineAudio[]): PictureSize | undefined {
  const reference = referenceIn(uri);
  // No more than the head of the file is decoded.
  const file = reference === undefined ? decodeDataUri(uri.slice(0, 2 * HEADER_BYTES)) : inline[reference];
  return file && pictureSize(file.bytes);
}

/** As models.yaml names it: files of the web UI have an ending, and perhaps a hash behind it. */
function nameOf(model: string, { controls }: ControlScene['model']): string {
  const bare = model.replace(/ \[[0-9a-f]+\]$/i, '').replace(/\.(?:safetensors|pth|pt|ckpt|onnx)$/i, '');
  return [bare, slugOf(bare)].find((name) => controls.some((each) => each.name === name)) ?? (bare || 'None');
}

/** Absent: that of the ControlNet's entry. */
function moduleOf(module: string): string | undefined {
  const plain = module.toLowerCase();
  return (isPlainPreprocess(plain) ? plain : module) || undefined;
}
