/** The results of text jobs in words, one line for each text. Pure. */
import type { Entity, Fill, Job, LabelScore } from '@lehr/client';
import { texts } from '../texts/index.ts';

/** Empty for other types, and while there is no result. */
export function textResults({ output }: Pick<Job, 'output'>): readonly string[] {
  if (output?.labels) return output.labels.map(labelsInWords);
  if (output?.fills) return output.fills.map(fillsInWords);
  if (output?.entities) return output.entities.map(entitiesInWords);
  return (output?.embeddings ?? []).map(({ length }) => texts.textJob.embedding(length));
}

/** The texts of a text job as a title: the first one, and how many more. Of many texts, the API shows only the count. */
export function titleOfTexts({ input }: Pick<Job, 'input'>): string | undefined {
  const given = input.texts as readonly unknown[] | { readonly count: number } | undefined;
  if (given === undefined) return undefined;
  if ('count' in given) return texts.textJob.count(given.count);
  const more = given.length > 1 ? ` ${texts.gallery.more(given.length - 1)}` : '';
  return `${wordsOf(given[0])}${more}`;
}

/** A text, a pair of texts, or token ids. */
function wordsOf(item: unknown): string {
  if (typeof item === 'string') return item;
  if (Array.isArray(item)) return texts.textJob.tokens(item.length);
  const { text, pair } = item as { text: string; pair: string };
  return `${text} / ${pair}`;
}

const labelsInWords = ([best]: readonly LabelScore[]): string =>
  best ? `${best.label}, ${texts.textJob.score(best.score)}` : texts.textJob.nothing;

/** The best token for each mask; with one mask, the whole sentence. */
function fillsInWords(masks: readonly (readonly Fill[])[]): string {
  const best = masks.flatMap(([fill]) => fill ?? []);
  const [only] = best;
  if (!only) return texts.textJob.nothing;
  return best.length === 1 ? only.sequence : best.map(({ token_str }) => token_str.trim()).join(', ');
}

const entitiesInWords = (entities: readonly Entity[]): string =>
  entities.map(({ word, label }) => `${word} (${label})`).join(', ') || texts.textJob.nothing;
