/** The fields of a new text model in models.yaml: which types of jobs it answers, which an API without the folder cannot know. */
import { join } from 'node:path';
import type { TextJobType } from '@lehr/shared';
import { readTextConfig } from '../../engine/text/folder/text-config.ts';

const HEADS: readonly (readonly [ending: string, type: TextJobType])[] = [
  ['ForMaskedLM', 'fill-mask'],
  ['ForSequenceClassification', 'text-classification'],
  ['ForTokenClassification', 'token-classification'],
];

/** A model without a head embeds texts. Throws LehrError `model-unavailable` when its config cannot be read. */
export async function textDefaults(folder: string): Promise<{ readonly tasks: readonly TextJobType[] }> {
  const { model } = await readTextConfig(join(folder));
  const [architecture = ''] = model.architectures ?? [];
  const head = HEADS.find(([ending]) => architecture.endsWith(ending));
  return { tasks: [head?.[1] ?? 'text-embedding'] };
}
