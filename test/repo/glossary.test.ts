/** The glossary holds: its links lead to files, and each word is there once. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, readText } from './readme.ts';

const GLOSSARY = readText('docs/glossary.md');

test('Every link of the glossary leads to a file', () => {
  const links = [...GLOSSARY.matchAll(/\]\(([^)#]+)\)/g)].map(([, link]) => link);
  expect(links.length).toBeGreaterThan(50);
  expect(links.filter((link) => !existsSync(join(ROOT, 'docs', link)))).toEqual([]);
});

test('Every row of the glossary names a different word', () => {
  const rows = [...GLOSSARY.matchAll(/^\| ([^|`]+) \| [^|]+ \| \[/gm)].map(([, word]) => word);
  expect(rows.length).toBeGreaterThan(50);
  expect(rows.filter((word, i) => rows.indexOf(word) < i)).toEqual([]);
});
