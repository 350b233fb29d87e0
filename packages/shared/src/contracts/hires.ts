/** A second pass of a picture: the first one draws it at the size of the job, the second one goes on at a larger size. */
import { z } from 'zod';

/**
 * What makes the first pass larger without a model: its latent by bilinear interpolation, or its pixels by Lanczos, which are then encoded
 * again. Any other upscaler is a model that transforms pictures.
 */
export const PLAIN_UPSCALERS = ['latent', 'lanczos'] as const;

export const isPlainUpscaler = (upscaler: string): boolean =>
  PLAIN_UPSCALERS.some((each) => each === upscaler);

export const HiresRequestSchema = z.strictObject({
  scale: z.number().min(1).max(4).optional().meta({
    description:
      "How many times as wide and high the picture becomes, rounded to the model's size step. Default 2.",
    example: 2,
  }),
  steps: z.int().min(1).max(1000).optional().meta({
    description:
      'As `steps`, of the second pass, which makes `steps` times `strength` of them. Default: those of the first pass.',
  }),
  strength: z.number().min(0).max(1).optional().meta({
    description:
      'How far the second pass may change the picture. Default 0.7 with `latent`, 0.4 with the others.',
    example: 0.6,
  }),
  upscaler: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({
      description:
        '`latent` interpolates the latent, which needs a strength above about 0.5. `lanczos` enlarges the pixels and needs a VAE ' +
        "encoder. The name of a model enlarges them with that, and Lanczos makes them exactly as large as wanted; the model's entry lists which " +
        '`upscalers` it takes. Default: `latent`; with `mask` or `expand`, `lanczos`.',
      example: 'lanczos',
    }),
});

export const HiresSchema = z.strictObject({
  scale: z.number().min(1).max(4),
  steps: z.int().positive(),
  strength: z.number().positive().max(1),
  /** One of PLAIN_UPSCALERS, or `name@version`. */
  upscaler: z.string(),
  /** Pixels of the second pass. */
  width: z.int().positive(),
  height: z.int().positive(),
});
export type Hires = z.output<typeof HiresSchema>;

interface Passes {
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  readonly strength?: number | undefined;
  readonly denoising_start?: number | undefined;
  readonly hires?: Hires | undefined;
}

/** The passes that an input stands for, each with its size, steps and strength. */
export function passesOf<Input extends Passes>(input: Input): Input[] {
  if (!input.hires) return [input];
  const { width, height, steps, strength } = input.hires;
  return [input, { ...input, width, height, steps, strength, denoising_start: undefined }];
}
