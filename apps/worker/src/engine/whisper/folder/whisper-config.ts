/** The JSON files of a Whisper folder, for what the graphs do not say themselves. */
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import { z } from 'zod';
import { readConfigFile } from '../../folder/config-file.ts';
import type { FrontEnd } from '../../protocol/messages.ts';
import { type GenerationConfig, GenerationSchema } from '../special-tokens.ts';

const size = z.int().positive();

const ModelSchema = z.looseObject({
  model_type: z.literal('whisper'),
  d_model: size,
  decoder_layers: size,
  decoder_attention_heads: size,
  max_source_positions: size,
  max_target_positions: size,
  num_mel_bins: size,
  vocab_size: size,
  median_filter_width: size.default(7),
});

/** Literals are the sizes that all Whisper models share; Lehr's front end computes no others. */
const FrontEndSchema = z.looseObject({
  chunk_length: z.int().positive().max(30),
  feature_size: size,
  hop_length: size,
  n_fft: z.literal(400),
  sampling_rate: z.literal(16_000),
});

export interface WhisperConfig {
  readonly model: z.output<typeof ModelSchema>;
  readonly generation: GenerationConfig;
  readonly frontEnd: FrontEnd;
}

/**
 * Reads `config.json`, `generation_config.json` and `preprocessor_config.json`. Throws LehrError `model-unavailable` that
 * names the file and the field.
 */
export async function readWhisperConfig(folder: string): Promise<WhisperConfig> {
  const configPath = join(folder, 'config.json');
  const model = await readConfigFile(configPath, ModelSchema);
  const older = await readConfigFile(configPath, GenerationSchema);
  const newer = await readConfigFile(join(folder, 'generation_config.json'), GenerationSchema);
  const preprocessor = await readConfigFile(join(folder, 'preprocessor_config.json'), FrontEndSchema);
  const windowSamples = preprocessor.chunk_length * preprocessor.sampling_rate;
  const windowFrames = windowSamples / preprocessor.hop_length;
  // The encoder's convolutions halve the frames: one position for two of them.
  if (windowFrames !== 2 * model.max_source_positions) {
    throw misfit(folder, `${windowFrames} frames`, `${2 * model.max_source_positions}`);
  }
  if (preprocessor.feature_size !== model.num_mel_bins) {
    throw misfit(folder, `${preprocessor.feature_size} mel bins`, `${model.num_mel_bins}`);
  }
  return {
    model,
    generation: { ...older, ...withoutNulls(newer) },
    frontEnd: {
      sampleRate: preprocessor.sampling_rate,
      melBins: preprocessor.feature_size,
      fftSize: preprocessor.n_fft,
      hopLength: preprocessor.hop_length,
      windowSamples,
      windowFrames,
    },
  };
}

const withoutNulls = (config: GenerationConfig): GenerationConfig =>
  Object.fromEntries(Object.entries(config).filter(([, value]) => value !== null));

const misfit = (folder: string, made: string, wanted: string): LehrError =>
  new LehrError(
    'model-unavailable',
    `The preprocessor_config.json of ${folder} makes windows of ${made}; its config.json wants ${wanted}.`,
  );
