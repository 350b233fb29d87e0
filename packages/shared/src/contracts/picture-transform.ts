/**
 * A picture through one graph: a larger picture, a mask, or labels. Its request, and its input with every default filled in. Which fields a
 * request may have depends on what the model gives.
 */
import { z } from 'zod';
import { MAX_MEDIA_REFERENCE, MediaSourceSchema } from './media-source.ts';
import { IMAGE_FORMATS } from './text-to-image.ts';

/** What the graph of a model gives: a picture, a grey value per pixel (depth, edges, foreground), or scores of labels. */
export const TRANSFORM_RESULTS = ['picture', 'mask', 'class'] as const;
export type TransformResult = (typeof TRANSFORM_RESULTS)[number];

/** How a mask becomes a picture: grey, or the picture that was sent with the mask as its alpha. */
export const MASK_OUTPUTS = ['mask', 'cutout'] as const;
export type MaskOutput = (typeof MASK_OUTPUTS)[number];

export const MAX_SCALE = 8;
export const MAX_LABELS = 100;
export const DEFAULT_LABELS = 5;
/** The largest picture that a job makes. */
export const MAX_RESULT_PIXELS = 64 * 1024 * 1024;

const scale = z.number().positive().max(MAX_SCALE);
const outputFormat = z.enum(IMAGE_FORMATS);
const maskOutput = z.enum(MASK_OUTPUTS);
const topK = z.int().min(1).max(MAX_LABELS);

export const PictureTransformRequestSchema = z
  .strictObject({
    image: z
      .string()
      .min(1)
      .max(MAX_MEDIA_REFERENCE)
      .meta({
        description:
          'The picture: PNG, JPEG or WebP as an http(s) URL, a `data:` URI, or the id or link of an uploaded file. In a workflow also ' +
          '`{{node.image}}`, the first picture of that node.',
        example: 'https://app.example/sketch.png',
      }),
    output_format: outputFormat
      .optional()
      .meta({ description: 'Of models that give a picture or a mask. Default: `png`.' }),
    scale: scale.optional().meta({
      description:
        "Of models that give a picture: how many times as wide and high it becomes. Default: the model's own scale; another one is reached by " +
        'Lanczos after the graph.',
      example: 2,
    }),
    output: maskOutput.optional().meta({
      description:
        'Of models that give a mask: the `mask` as a grey picture (default), or the `cutout`, which is the picture with the mask as its alpha, as ' +
        'PNG or WebP.',
    }),
    top_k: topK.optional().meta({
      description: `Of models that give labels: how many, best first. Default: ${DEFAULT_LABELS}.`,
    }),
  })
  .meta({ id: 'PictureTransformInput' });
export type PictureTransformRequest = z.output<typeof PictureTransformRequestSchema>;

/** The fields of the other results are absent. */
export const PictureTransformInputSchema = z.strictObject({
  image: MediaSourceSchema,
  output_format: outputFormat.optional(),
  scale: scale.optional(),
  output: maskOutput.optional(),
  top_k: topK.optional(),
});
export type PictureTransformInput = z.output<typeof PictureTransformInputSchema>;

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Pixels of a picture that becomes `scale` times as wide and high. */
export const scaledSize = ({ width, height }: Size, factor: number): Size => ({
  width: Math.max(1, Math.round(width * factor)),
  height: Math.max(1, Math.round(height * factor)),
});

/**
 * Why a picture of this size cannot be transformed; undefined when it can. `factor` is 1 unless the result is a picture: then it is the scale that
 * is wanted, or that of the model where this is larger, because its graph makes all of those pixels first.
 */
export function sizeProblem(size: Size, factor: number, maxPixels: number): string | undefined {
  const has = `has ${size.width}x${size.height} pixels`;
  if (size.width * size.height > maxPixels) return `${has}; the model takes at most ${maxPixels}`;
  const made = scaledSize(size, factor);
  if (made.width * made.height <= MAX_RESULT_PIXELS) return undefined;
  return `${has} and would become ${made.width}x${made.height}; a result has at most ${MAX_RESULT_PIXELS} pixels`;
}

/** Pixels by which neighbouring tiles overlap: what is near the edge of a tile is dropped, because the graph saw nothing beyond it. */
export const overlapOf = (tile: number): number => Math.max(1, Math.floor(tile / 8));

/** How many tiles of a side cover a length. */
export const tilesAlong = (length: number, tile: number): number =>
  length <= tile ? 1 : Math.ceil((length - overlapOf(tile)) / (tile - overlapOf(tile)));

/** Pixels of a tile's side, when neither models.yaml nor the folder says another. */
const TILE = 256;

/** The rows of a job: the tiles of its picture when the result is a picture, else one. */
export const rowsOfTransform = (result: TransformResult, { width, height }: Size, tile = TILE): number =>
  result === 'picture' ? tilesAlong(width, tile) * tilesAlong(height, tile) : 1;
