import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import { z } from 'zod';
import { readConfigFile } from '../../folder/config-file.ts';
import type { GenerationConfig } from '../generation-config.ts';
import { findSpecialTokens } from '../special-tokens.ts';
import { WhisperTokenizer } from '../tokenizer.ts';

const TokenizerJsonSchema = z.looseObject({
  model: z.looseObject({ type: z.literal('BPE') }),
  added_tokens: z.array(z.object({ id: z.int().nonnegative(), content: z.string() })).default([]),
});

/** Reads `tokenizer.json`. Throws LehrError `model-unavailable` that names the file. */
export async function openWhisperTokenizer(
  folder: string,
  generation: GenerationConfig,
): Promise<WhisperTokenizer> {
  const json = await readConfigFile(join(folder, 'tokenizer.json'), TokenizerJsonSchema);
  const added = new Map(json.added_tokens.map(({ content, id }) => [content, id]));
  try {
    // Without the added tokens, so that a special token written out in a prompt is plain text and steers nothing.
    return new WhisperTokenizer({ ...json, added_tokens: [] }, findSpecialTokens(generation, added), added);
  } catch (cause) {
    if (cause instanceof LehrError) throw cause;
    throw new LehrError('model-unavailable', `${folder} has no tokenizer that Lehr can run.`, { cause });
  }
}
