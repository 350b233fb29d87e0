/** The README and CONTRIBUTING agree with the code. start.test.ts runs the shell blocks, which it finds by their labels. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { envTable, withEnvTable } from '../../infra/local/env-table.ts';
import { faultsPage, type Results } from '../../lab/chaos/faults-page.ts';
import { ENV } from '../../packages/shared/src/config/env.ts';
import { MOVES } from '../../packages/shared/src/records/index.ts';
import { blocksOf, ROOT, readText, shellBlock } from './readme.ts';

const PAGES = ['README.md', 'CONTRIBUTING.md'];
const DOCS = readdirSync(join(ROOT, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);

test('The tables of docs/settings.md are those that npm run docs makes from the schema', () => {
  const page = readText('docs/settings.md');
  expect(withEnvTable(page)).toBe(page);
  const own = Object.keys(ENV).filter((name) => name.startsWith('LEHR_'));
  expect(own.length).toBeGreaterThan(30);
  for (const name of own) expect(envTable()).toContain(`| \`${name}\` |`);
});

test('start.test.ts runs every shell block of the README and of CONTRIBUTING', () => {
  const tests = readText('test/repo/start.test.ts');
  for (const page of PAGES) {
    for (const { language, label, text } of blocksOf(readText(page))) {
      if (language === 'sh') expect(tests, text).toContain(`shellBlock('${label}')`);
    }
  }
});

test('Every program in the README is also in a page of docs, whose programs a test runs', () => {
  const programs = DOCS.flatMap((page) => blocksOf(readText(page)));
  const shown = PAGES.flatMap((page) => blocksOf(readText(page))).filter(({ language }) => language === 'ts');
  expect(shown.map(({ label }) => label)).toEqual(['picture']);
  for (const program of shown) expect(programs).toContainEqual(program);
});

test('The README draws a picture with the lines that npm start prints', async () => {
  const greeting = new URL('../../infra/local/greeting.mjs', import.meta.url).href;
  const { curlLines } = (await import(greeting)) as {
    curlLines(where: { url: string; key: string }): string[];
  };
  const lines = curlLines({ url: 'http://127.0.0.1:8080', key: '$(cat .lehr/api-key)' });
  expect(shellBlock('picture')).toBe(`${lines.join('\n')}\n`);
});

test('Every npm script that the README or CONTRIBUTING names exists', () => {
  const { scripts } = JSON.parse(readText('package.json')) as { scripts: Record<string, string> };
  const named = PAGES.flatMap((page) => [...readText(page).matchAll(/\bnpm (?:run ([\w-]+)|(start|test))/g)]);
  expect(named.length).toBeGreaterThan(3);
  for (const [, script, verb] of named) expect(Object.keys(scripts)).toContain(script ?? verb);
});

test('docs/README.md links to every other page of docs', () => {
  const pages = DOCS.filter((page) => page !== 'docs/README.md');
  for (const page of pages) expect(readText('docs/README.md')).toContain(`](${basename(page)})`);
});

test('The page of faults is the one that the results of the fault suite make', () => {
  const results = JSON.parse(readText('lab/chaos/results.json')) as Results;
  expect(readText('lab/faults.md')).toBe(faultsPage(results));
});

test('Every link of a page to a file of the repository leads to a file', () => {
  for (const page of [...PAGES, ...DOCS]) {
    const links = [...readText(page).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link]) => link);
    const dead = links.filter((link) => !existsSync(join(ROOT, dirname(page), link)));
    expect(dead, page).toEqual([]);
  }
});

test('The diagram of states in docs/events.md shows the moves that records allow, and no other', () => {
  const diagrams = blocksOf(readText('docs/events.md')).filter(({ language }) => language === 'mermaid');
  const [diagram] = diagrams.filter(({ text }) => text.startsWith('stateDiagram'));
  const shown = [...diagram.text.matchAll(/^ +([a-z]+) --> ([a-z]+)/gm)].map(
    ([, from, to]) => `${from} ${to}`,
  );
  const allowed = Object.values(MOVES).flatMap(({ from, to }) =>
    from.filter((state) => state !== to).map((state) => `${state} ${to}`),
  );
  expect(shown.sort()).toEqual([...new Set(allowed)].sort());
});
