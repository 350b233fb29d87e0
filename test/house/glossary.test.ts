/** The glossary holds: its links lead to files, and the words it dropped are used nowhere. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, readText } from './readme.ts';

const GLOSSARY = 'docs/glossary.md';
/** These name the dropped words on purpose. */
const EXEMPT = [GLOSSARY, 'test/house/glossary.test.ts'];
const SOURCE = new Set(['.ts', '.mjs', '.lua', '.md', '.grit', '.yaml', '.yml', '.sh', '.html']);
const SKIPPED = new Set(['node_modules', 'dist', '.turbo']);
/** How many words a `…` stands for at most. */
const MAX_GAP = 3;
const GAP = '…';

interface Word {
  /** Lower case. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** A dropped phrase: a name such as `asOf` only where its parts are joined, words with spaces only as words. */
interface Phrase {
  readonly text: string;
  readonly words: readonly string[];
  readonly between: RegExp;
}

/** Names such as `takeTwins`, `take_twins` and `TAKE_TWINS` have several words. */
const wordsOf = (text: string): Word[] =>
  [...text.matchAll(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g)].map(({ 0: word, index }) => ({
    text: word.toLowerCase(),
    start: index,
    end: index + word.length,
  }));

/** A phrase may go over the end of a line, also in a comment. */
const SPACE = /^(?:\s|\*|\/\/|--|#|-)+$/;
const JOINT = /^_?$/;

const phraseOf = (text: string): Phrase =>
  text.includes(' ')
    ? { text, words: text.split(' '), between: SPACE }
    : { text, words: wordsOf(text).map((word) => word.text), between: JOINT };

/** The line numbers where the phrase begins. */
function linesWith({ words: wanted, between }: Phrase, text: string, words: readonly Word[]): number[] {
  const isNext = (at: number): boolean =>
    at > 0 && at < words.length && between.test(text.slice(words[at - 1].end, words[at].start));
  const matches = (at: number, [first, ...rest]: readonly string[], gap = 0): boolean => {
    if (first === undefined) return true;
    if (!isNext(at)) return false;
    if (first !== GAP) return words[at].text === first && matches(at + 1, rest);
    return matches(at, rest) || (gap < MAX_GAP && matches(at + 1, [first, ...rest], gap + 1));
  };
  const [first, ...rest] = wanted;
  return words
    .filter((word, at) => word.text === first && matches(at + 1, rest))
    .map(({ start }) => text.slice(0, start).split('\n').length);
}

function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : filesBelow(path);
    return entry.isFile() && SOURCE.has(extname(entry.name)) ? [path] : [];
  });
}

const sourceFiles = (): string[] => {
  const packages = readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}/src`);
  const folders = [
    'apps',
    'test',
    'infra',
    'docs',
    ...packages.filter((path) => existsSync(join(ROOT, path))),
  ];
  return ['README.md', 'CONTRIBUTING.md', ...folders.flatMap(filesBelow)].filter(
    (path) => !EXEMPT.includes(path),
  );
};

/** The dropped phrases: everything in `code` in the first column of the last table. */
function droppedPhrases(): Phrase[] {
  const [, table] = readText(GLOSSARY).split('\n## Dropped words\n');
  return [...table.matchAll(/^\|([^|]*)\|/gm)].flatMap(([, cell]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, phrase]) => phraseOf(phrase)),
  );
}

function usesOf(phrases: readonly Phrase[], path: string, text: string): string[] {
  const words = wordsOf(text);
  return phrases.flatMap((phrase) =>
    linesWith(phrase, text, words).map((line) => `${path}:${line} ${phrase.text}`),
  );
}

test('Every link of the glossary leads to a file', () => {
  const links = [...readText(GLOSSARY).matchAll(/\]\(([^)#]+)\)/g)].map(([, link]) => link);
  expect(links.length).toBeGreaterThan(50);
  expect(links.filter((link) => !existsSync(join(ROOT, 'docs', link)))).toEqual([]);
});

test('Every row of the glossary names a different word', () => {
  const rows = [...readText(GLOSSARY).matchAll(/^\| ([^|`]+) \| [^|]+ \| \[/gm)].map(([, word]) => word);
  expect(rows.length).toBeGreaterThan(50);
  expect(rows.filter((word, i) => rows.indexOf(word) < i)).toEqual([]);
});

test('A word that the glossary dropped is used nowhere in the repository', () => {
  const phrases = droppedPhrases();
  expect(phrases.length).toBeGreaterThan(20);
  const files = sourceFiles();
  expect(files.length).toBeGreaterThan(400);
  const uses = files.flatMap((path) => usesOf(phrases, path, readFileSync(join(ROOT, path), 'utf8')));
  expect(uses).toEqual([]);
});

test('The check finds a dropped word in comments, across lines, and in every style of name', () => {
  const phrases = ['twin', 'twins', 'call … off', 'called … off', 'asOf', 'GraphQueue'].map(phraseOf);
  const uses = (text: string): string[] => usesOf(phrases, 'planted.ts', text).sort();
  expect(uses('/** The job is called\n * off when its Twin ends. */')).toEqual([
    'planted.ts:1 called … off',
    'planted.ts:2 twin',
  ]);
  expect(uses('const takeTwins = (twin_hash) => asOf(GRAPH_QUEUE);')).toEqual([
    'planted.ts:1 GraphQueue',
    'planted.ts:1 asOf',
    'planted.ts:1 twin',
    'planted.ts:1 twins',
  ]);
  expect(uses('call the very first off, call each of the other two off')).toEqual([
    'planted.ts:1 call … off',
  ]);
  expect(uses("twinkle, as of today, { graph: 'queue' }, a call. It is off")).toEqual([]);
});

test('Every word of the table of dropped words is found when it is used', () => {
  for (const phrase of droppedPhrases()) {
    const planted = `const a = 1; // ${phrase.text.replace(GAP, 'it')}\n`;
    expect(usesOf([phrase], 'planted.ts', planted)).toEqual([`planted.ts:1 ${phrase.text}`]);
  }
});

test('The check reads every folder of the repository', () => {
  const rooms = new Set(sourceFiles().map((path) => relative('.', path).split('/').slice(0, 2).join('/')));
  for (const room of [
    'apps/api',
    'apps/worker',
    'packages/shared',
    'packages/client',
    'test/api',
    'infra/local',
  ]) {
    expect(rooms).toContain(room);
  }
  expect(EXEMPT.every((path) => existsSync(join(ROOT, path)))).toBe(true);
});
