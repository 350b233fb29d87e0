/** The JSON files of a model that transforms pictures: how a picture is prepared, and the names of its labels. */
import { join } from 'node:path';
import { z } from 'zod';
import { readOptionalConfig } from '../../folder/config-file.ts';
import type { TransformInput } from '../../protocol/messages.ts';
import type { Filter, PictureSize } from '../../values/resize.ts';
import type { Preparation, SizeRule } from '../preparation.ts';

const edge = z.int().positive();

/** The size of a processor: one number for both sides or for the shorter one, or names of sides. */
const SizeSchema = z.union([
  edge,
  z.looseObject({
    height: edge.nullish(),
    width: edge.nullish(),
    shortest_edge: edge.nullish(),
    longest_edge: edge.nullish(),
  }),
]);
type Size = z.output<typeof SizeSchema>;

const numbers = z.union([z.number().transform((value) => [value]), z.array(z.number()).min(1)]);

const ProcessorSchema = z.looseObject({
  image_processor_type: z.string().nullish(),
  feature_extractor_type: z.string().nullish(),
  do_resize: z.boolean().nullish(),
  size: SizeSchema.nullish(),
  crop_pct: z.number().positive().max(1).nullish(),
  resample: z.int().min(0).max(5).nullish(),
  do_center_crop: z.boolean().nullish(),
  crop_size: SizeSchema.nullish(),
  do_rescale: z.boolean().nullish(),
  rescale_factor: z.number().positive().nullish(),
  do_normalize: z.boolean().nullish(),
  image_mean: numbers.nullish(),
  image_std: numbers.nullish(),
  keep_aspect_ratio: z.boolean().nullish(),
  ensure_multiple_of: edge.nullish(),
  do_pad: z.boolean().nullish(),
  /** Of Swin2SR: sides are multiples of it. Other processors have objects here. */
  pad_size: z.unknown().optional(),
  size_divisor: edge.nullish(),
  do_flip_channel_order: z.boolean().nullish(),
});
type Processor = z.output<typeof ProcessorSchema>;

const ModelSchema = z.looseObject({
  id2label: z.record(z.string(), z.string()).nullish(),
  problem_type: z.string().nullish(),
});
export type TransformModelConfig = z.output<typeof ModelSchema>;

/** In the order of Pillow's numbers. */
const FILTERS: readonly Filter[] = ['nearest', 'lanczos', 'bilinear', 'bicubic', 'box', 'hamming'];
const ONE_BYTE = 1 / 255;
/** ConvNeXT resizes to exact squares from there on; below, it crops. */
const UNCROPPED_EDGE = 384;

/**
 * Reads `config.json` and `preprocessor_config.json`, of which neither must be there. What `input` states wins, field by field. Throws
 * LehrError `model-unavailable` that names the file and the field.
 */
export async function readTransformConfig(
  folder: string,
  input: TransformInput,
): Promise<{ readonly model: TransformModelConfig; readonly preparation: Preparation }> {
  const model = await readOptionalConfig(join(folder, 'config.json'), ModelSchema);
  const processor = await readOptionalConfig(join(folder, 'preprocessor_config.json'), ProcessorSchema);
  return { model, preparation: preparationOf(processor, input) };
}

function preparationOf(processor: Processor, input: TransformInput): Preparation {
  const normalizes = processor.do_normalize ?? Boolean(processor.image_mean);
  const rescales = processor.do_rescale ?? true;
  const { width = input.height, height = input.width } = input;
  const isExact = width !== undefined && height !== undefined;
  return {
    size: isExact ? { kind: 'exact', width, height } : sizeRule(processor, input.multiple),
    crop: isExact ? undefined : cropOf(processor),
    filter: FILTERS[processor.resample ?? FILTERS.indexOf('bilinear')],
    rescale: input.rescale ?? (rescales ? (processor.rescale_factor ?? ONE_BYTE) : 1),
    mean: input.mean ?? ((normalizes && processor.image_mean) || [0]),
    std: input.std ?? ((normalizes && processor.image_std) || [1]),
    channels: input.channels ?? (processor.do_flip_channel_order ? 'bgr' : 'rgb'),
  };
}

function sizeRule(processor: Processor, stated: number | undefined): SizeRule {
  const multiple = stated ?? processor.ensure_multiple_of ?? paddedTo(processor) ?? 1;
  const { size } = processor;
  if (!(processor.do_resize ?? Boolean(size)) || !size) return { kind: 'own', multiple };
  const short = shortestEdge(processor, size);
  if (short !== undefined) {
    const isSmall = processor.crop_pct && short < UNCROPPED_EDGE;
    if (processor.crop_pct && !isSmall) return { kind: 'exact', ...square(short) };
    const resizedEdge = isSmall ? Math.floor(short / (processor.crop_pct ?? 1)) : short;
    const longest = typeof size === 'object' ? (size.longest_edge ?? undefined) : undefined;
    return { kind: 'shortest', edge: resizedEdge, longest };
  }
  const sides = sidesOf(size);
  if (!sides) return { kind: 'own', multiple };
  if (processor.keep_aspect_ratio) return { kind: 'fit', multiple, ...sides };
  const near = (side: number): number => Math.max(1, Math.round(side / multiple)) * multiple;
  return { kind: 'exact', width: near(sides.width), height: near(sides.height) };
}

const paddedTo = ({ do_pad, pad_size, size_divisor }: Processor): number | undefined => {
  if (do_pad === false) return undefined;
  return size_divisor ?? (typeof pad_size === 'number' ? pad_size : undefined);
};

/** A plain number is the shorter side for CLIP, whose older files have it, and a square for the others. */
function shortestEdge(processor: Processor, size: Size): number | undefined {
  if (typeof size === 'object') return size.shortest_edge ?? undefined;
  const type = processor.image_processor_type ?? processor.feature_extractor_type ?? '';
  return type.startsWith('CLIP') || processor.crop_pct ? size : undefined;
}

function cropOf(processor: Processor): PictureSize | undefined {
  const { size, crop_size: crop, crop_pct: share } = processor;
  const short = size && shortestEdge(processor, size);
  if (share && short && short < UNCROPPED_EDGE) return square(short);
  if (!crop || !(processor.do_center_crop ?? true)) return undefined;
  return sidesOf(crop);
}

function sidesOf(size: Size): PictureSize | undefined {
  if (typeof size === 'number') return square(size);
  const { width = size.height, height = size.width } = size;
  return width && height ? { width, height } : undefined;
}

const square = (side: number): PictureSize => ({ width: side, height: side });
