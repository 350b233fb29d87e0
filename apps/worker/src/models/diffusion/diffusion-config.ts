/** The JSON files of a diffusers folder, for what the graphs do not say themselves. */
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import { z } from 'zod';
import { parseSchedulerConfig, type SchedulerConfig } from '../../diffusion/scheduler-config.ts';
import { readConfigFile, readModelText, readOptionalConfig } from '../config-file.ts';

const size = z.int().positive();

/** Components of models other than Stable Diffusion 1.x and 2.x. */
const UNSUPPORTED_COMPONENTS = [
  'text_encoder_2',
  'tokenizer_2',
  'text_encoder_3',
  'transformer',
  'prior',
  'controlnet',
  'image_encoder',
];

const IndexSchema = z.looseObject({ _class_name: z.string() });

const UnetSchema = z.looseObject({
  in_channels: size.nullish(),
  cross_attention_dim: z.union([size, z.array(size)]).nullish(),
  /** Height and width of a latent at the native size. */
  sample_size: z.union([size, z.tuple([size, size])]).nullish(),
  block_out_channels: z.array(size).min(1).nullish(),
});

const TextEncoderSchema = z.looseObject({
  hidden_size: size.nullish(),
  max_position_embeddings: size.nullish(),
});

const VaeSchema = z.looseObject({
  latent_channels: size.nullish(),
  // The default of diffusers' AutoencoderKL, for folders written before the field existed.
  scaling_factor: z.number().positive().default(0.18215),
  shift_factor: z.number().nullish(),
});

export interface DiffusionConfig {
  readonly unet: z.output<typeof UnetSchema>;
  readonly textEncoder: z.output<typeof TextEncoderSchema>;
  readonly vae: z.output<typeof VaeSchema>;
  readonly scheduler: SchedulerConfig;
}

/**
 * Reads the configs of an Optimum or diffusers-ONNX folder. The configs of the graphs may be missing: older exporters do
 * not write them. Throws LehrError `model-unavailable` that names the file and the field.
 */
export async function readDiffusionConfig(folder: string): Promise<DiffusionConfig> {
  const indexPath = join(folder, 'model_index.json');
  const index = await readConfigFile(indexPath, IndexSchema);
  for (const component of UNSUPPORTED_COMPONENTS) {
    if (Array.isArray(index[component]) && index[component].some((part) => part !== null)) {
      const kind = `${index._class_name} with a "${component}"`;
      throw new LehrError(
        'model-unavailable',
        `${indexPath} is a ${kind}; Lehr runs Stable Diffusion 1.x and 2.x.`,
      );
    }
  }
  return {
    unet: await readOptionalConfig(join(folder, 'unet/config.json'), UnetSchema),
    textEncoder: await readOptionalConfig(join(folder, 'text_encoder/config.json'), TextEncoderSchema),
    vae: await readOptionalConfig(join(folder, 'vae_decoder/config.json'), VaeSchema),
    scheduler: parseSchedulerConfig(await readModelText(join(folder, 'scheduler/scheduler_config.json'))),
  };
}
