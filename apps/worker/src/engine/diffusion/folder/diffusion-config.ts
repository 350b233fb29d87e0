/** The JSON files of a diffusers folder, for what the graphs do not say themselves. */
import { join } from 'node:path';
import { isRefiner, LehrError } from '@lehr/shared';
import { z } from 'zod';
import { readConfigFile, readModelText, readOptionalConfig } from '../../folder/config-file.ts';
import { parseSchedulerConfig, type SchedulerConfig } from '../scheduler-config.ts';

const size = z.int().positive();

/** Components that Lehr does not run, and what to do instead. */
const UNSUPPORTED_COMPONENTS: Readonly<Record<string, string>> = {
  transformer: 'it denoises with a transformer (as SD3, Flux and PixArt do) and not with a UNet',
  text_encoder_3: 'it has three text encoders, as SD3',
  prior: 'it draws in two stages',
  controlnet: 'it needs a second picture as input; export the model without the ControlNet',
  image_encoder: 'it needs a second picture as input; export the model without the image encoder',
};

const SUPPORTED =
  'Lehr runs Stable Diffusion 1.x, 2.x and XL, their Turbo, LCM and inpainting forms, and the refiner of XL';

/** A component is a pair of library and class, both null when the pipeline does without. */
const IndexSchema = z.looseObject({
  _class_name: z.string(),
  requires_aesthetics_score: z.boolean().nullish(),
  // The default of diffusers' StableDiffusionXLPipeline.
  force_zeros_for_empty_prompt: z.boolean().nullish(),
});
type ModelIndex = z.output<typeof IndexSchema>;

const UnetSchema = z.looseObject({
  in_channels: size.nullish(),
  out_channels: size.nullish(),
  cross_attention_dim: z.union([size, z.array(size)]).nullish(),
  /** Height and width of a latent at the native size. */
  sample_size: z.union([size, z.tuple([size, size])]).nullish(),
  block_out_channels: z.array(size).min(1).nullish(),
  /** Residual layers of each block. */
  layers_per_block: z.union([size, z.array(size)]).nullish(),
  /** Length of the embedding of the guidance scale, in a latent consistency model. */
  time_cond_proj_dim: size.nullish(),
});

const TextEncoderSchema = z.looseObject({
  hidden_size: size.nullish(),
  max_position_embeddings: size.nullish(),
  projection_dim: size.nullish(),
});

const VaeSchema = z.looseObject({
  latent_channels: size.nullish(),
  scaling_factor: z.number().positive().nullish(),
  shift_factor: z.number().nullish(),
  /** The decoder overflows in float16. */
  force_upcast: z.boolean().nullish(),
});

export interface DiffusionConfig {
  readonly unet: z.output<typeof UnetSchema>;
  /** Undefined for a refiner. */
  readonly textEncoder: z.output<typeof TextEncoderSchema> | undefined;
  /** Only of SDXL and its refiner. */
  readonly textEncoder2: z.output<typeof TextEncoderSchema> | undefined;
  readonly vae: z.output<typeof VaeSchema>;
  readonly scheduler: SchedulerConfig;
  readonly zeroesEmptyNegative: boolean;
}

/**
 * Reads the configs of an Optimum or diffusers-ONNX folder. The configs of the graphs may be missing: older exporters do
 * not write them. Throws LehrError `model-unavailable` that names the file and the field.
 */
export async function readDiffusionConfig(folder: string): Promise<DiffusionConfig> {
  const indexPath = join(folder, 'model_index.json');
  const index = await readConfigFile(indexPath, IndexSchema);
  checkComponents(indexPath, index);
  const isXl = hasComponent(index, 'text_encoder_2');
  return {
    unet: await readOptionalConfig(join(folder, 'unet/config.json'), UnetSchema),
    textEncoder: isRefiner(index)
      ? undefined
      : await readOptionalConfig(join(folder, 'text_encoder/config.json'), TextEncoderSchema),
    textEncoder2: isXl
      ? await readOptionalConfig(join(folder, 'text_encoder_2/config.json'), TextEncoderSchema)
      : undefined,
    vae: await readOptionalConfig(join(folder, 'vae_decoder/config.json'), VaeSchema),
    scheduler: parseSchedulerConfig(await readModelText(join(folder, 'scheduler/scheduler_config.json'))),
    zeroesEmptyNegative: isXl && (index.force_zeros_for_empty_prompt ?? true),
  };
}

function hasComponent(index: ModelIndex, name: string): boolean {
  const component = index[name];
  return Array.isArray(component) && component.some((part) => part !== null);
}

function checkComponents(path: string, index: ModelIndex): void {
  for (const [component, problem] of Object.entries(UNSUPPORTED_COMPONENTS)) {
    if (!hasComponent(index, component)) continue;
    const kind = `${index._class_name} with a "${component}"`;
    throw new LehrError('model-unavailable', `${path} is a ${kind}: ${problem}. ${SUPPORTED}.`);
  }
}
