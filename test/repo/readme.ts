/** The README as tests read it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

export const readText = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

export interface Block {
  readonly language: string;
  /** The word after the language: which test runs the block. */
  readonly label: string;
  readonly text: string;
}

export const blocksOf = (markdown: string): Block[] =>
  [...markdown.matchAll(/^```(\S+) *(\S*)\n([\s\S]*?)^```$/gm)].map(([, language, label, text]) => ({
    language,
    label,
    text,
  }));

/** The one shell block of this label. Throws when the README has none, or several. */
export function shellBlock(label: string): string {
  const found = blocksOf(readText('README.md')).filter(
    (block) => block.language === 'sh' && block.label === label,
  );
  if (found.length !== 1) throw new Error(`README.md has ${found.length} blocks "sh ${label}", wanted one`);
  return found[0].text;
}
