/** `generation_config.json` of a Whisper folder: how its authors decode. */
import { z } from 'zod';

const tokenId = z.int().nonnegative();

/** Older folders keep the token lists in config.json, and little in generation_config.json. */
export const GenerationSchema = z.looseObject({
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
