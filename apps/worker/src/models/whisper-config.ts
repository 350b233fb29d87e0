/** What the JSON files of a Whisper folder tell, as far as the graphs do not tell it themselves. */
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import { z } from 'zod';
import { readConfigFile } from '../diffusion/config-file.ts';

const size = z.int().positive();
const tokenId = z.int().nonnegative();

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

/** Older folders keep the token lists in config.json, and have little in generation_config.json. */
const GenerationSchema = z.looseObject({
  alignment_heads: z.array(z.tuple([z.int().nonnegative(), z.int().nonnegative()])).nullish(),
  begin_suppress_tokens: z.array(z.int()).nullish(),
  condition_on_prev_tokens: z.boolean().nullish(),
  decoder_start_token_id: tokenId.nullish(),
  eos_token_id: z.union([tokenId, z.array(tokenId).min(1)]).nullish(),
  is_multilingual: z.boolean().nullish(),
  lang_to_id: z.record(z.string(), tokenId).nullish(),
  max_initial_timestamp_index: z.int().nonnegative().nullish(),
  no_timestamps_token_id: tokenId.nullish(),
  prev_sot_token_id: tokenId.nullish(),
  suppress_tokens: z.array(z.int()).nullish(),
  task_to_id: z.record(z.string(), tokenId).nullish(),
});
export type GenerationConfig = z.output<typeof GenerationSchema>;

/** The sizes that all Whisper models share stand here as they are: Lehr's front end computes no others. */
const FrontEndSchema = z.looseObject({
  chunk_length: z.int().positive().max(30),
  feature_size: size,
  hop_length: size,
  n_fft: z.literal(400),
  sampling_rate: z.literal(16_000),
});

/** What turns a waveform into what the encoder wants. */
export interface FrontEndConfig {
  /** Samples a second of the waveform. */
  readonly sampleRate: 16_000;
  readonly melBins: number;
  readonly fftSize: 400;
  /** Samples from one mel frame to the next. */
  readonly hopLength: number;
  /** Samples of a whole window. */
  readonly windowSamples: number;
  /** Mel frames of a whole window. */
  readonly windowFrames: number;
}

export interface WhisperConfig {
  readonly model: z.output<typeof ModelSchema>;
  readonly generation: GenerationConfig;
  readonly frontEnd: FrontEndConfig;
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
  // Two convolutions halve the frames: the encoder has one position for two of them.
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
