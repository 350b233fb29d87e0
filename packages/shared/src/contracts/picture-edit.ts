/** The fields of a picture request that say which part of its `image` is drawn again, or what is drawn around it. */
import { z } from 'zod';
import { MAX_MEDIA_REFERENCE, MediaSourceSchema } from './media-source.ts';

export const MASK_FILLS = ['original', 'noise', 'latent_noise'] as const;
export type MaskFill = (typeof MASK_FILLS)[number];

/** The strength of an edit: noise as a beginning would stay visible at less than 1. */
export const editStrength = (fill: MaskFill): number => (fill === 'original' ? 0.75 : 1);

const MAX_BLUR = 64;
const MAX_PADDING = 512;
const DEFAULT_PADDING = 32;
const MAX_EXPANSION = 4096;

const maskBlur = z.int().min(0).max(MAX_BLUR);
const maskFill = z.enum(MASK_FILLS);
const expansion = z.int().min(0).max(MAX_EXPANSION).default(0);

const OnlyMaskedSchema = z.strictObject({
  padding: z.int().min(0).max(MAX_PADDING).default(DEFAULT_PADDING),
});
const ExpandSchema = z.strictObject({
  left: expansion,
  right: expansion,
  top: expansion,
  bottom: expansion,
});
export type Expand = z.output<typeof ExpandSchema>;

/** As posted. */
export const editRequestFields = {
  mask: z
    .string()
    .min(1)
    .max(MAX_MEDIA_REFERENCE)
    .optional()
    .meta({
      description:
        'With `image`: the part of it to draw again; the rest stays as it is. A picture of the size of `image`, given in the same ways: what is ' +
        'transparent is changed, or when nothing is, what is white; a grey value is a weight.',
      example: 'https://app.example/mask.png',
    }),
  mask_invert: z.boolean().optional().meta({
    description: 'With `mask`: what it marks is kept, and the rest of the picture drawn again.',
  }),
  mask_blur: maskBlur.optional().meta({
    description:
      'With `mask` or `expand`: softens the edge by a Gaussian blur of so many pixels. Default: 0.',
    example: 4,
  }),
  mask_fill: maskFill.optional().meta({
    description:
      'With `mask` or `expand`: what the drawing begins at there: the picture as it is (around it, mirrored), pixels of noise, or noise in the latent.',
  }),
  only_masked: OnlyMaskedSchema.optional().meta({
    description:
      'With `mask`: draws the part around the mask alone, with so many pixels of the picture as padding, at the size of the job, and puts it back ' +
      'into the picture, which keeps its own size.',
    example: { padding: 32 },
  }),
  expand: ExpandSchema.optional().meta({
    description:
      'With `image` and without `mask`: draws so many pixels more on each side of it. The picture itself stays as it is.',
    example: { left: 0, right: 256, top: 0, bottom: 0 },
  }),
};

/** With every default filled in; absent unless a part of a picture is drawn. */
export const editInputFields = {
  mask: MediaSourceSchema.optional(),
  mask_invert: z.literal(true).optional(),
  mask_blur: maskBlur.optional(),
  mask_fill: maskFill.optional(),
  only_masked: OnlyMaskedSchema.optional(),
  expand: ExpandSchema.optional(),
};
