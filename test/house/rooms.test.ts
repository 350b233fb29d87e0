/** Rooms and files import each other in one direction only, type imports included. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { readText } from './readme.ts';

/** Source text by path inside the app's src. */
type Sources = ReadonlyMap<string, string>;
/** The rooms or files that each room or file imports. */
type Arrows = ReadonlyMap<string, ReadonlySet<string>>;

test.each([
  ['apps/api', 'routes', 'jobs'],
  ['apps/worker', 'fleet', 'runs'],
])('The rooms of %s import each other without a cycle', (part, room, imported) => {
  const sources = readSources(part);
  const arrows = arrowsOf(sources, roomOf);
  expect(sources.size).toBeGreaterThan(100);
  expect(arrows.get(room)).toContain(imported);
  expect(cycleIn(arrows)).toBeUndefined();
});

test.each([
  'apps/api',
  'apps/cli',
  'apps/worker',
  'packages/client',
  'packages/onnx-model',
  'packages/shared',
])('The files of %s import each other without a cycle', (part) => {
  const arrows = arrowsOf(readSources(part), (path) => path);
  expect(arrows.size).toBeGreaterThan(5);
  expect(cycleIn(arrows)).toBeUndefined();
});

test.each([
  ['api', 'webhooks/planted.ts', "import type { submitJob } from '../jobs/submit.ts';"],
  ['api', 'auth/planted.ts', "export { makeJob } from '../calls/make-job.ts';"],
  ['api', 'jobs/planted.ts', "const { createApp } = await import('../app.ts');"],
  ['worker', 'delivery/planted.ts', "import type { JobRun } from '../runs/job-run.ts';"],
  ['worker', 'runs/planted.ts', "import type { Previews } from '../fleet/previews.ts';"],
])('An import that closes a cycle in apps/%s is found in %s', (app, path, statement) => {
  const cycle = cycleIn(arrowsOf(new Map([...readSources(`apps/${app}`), [path, statement]]), roomOf));
  expect(cycle).toContain(dirname(path));
});

test('Every import in apps/api goes down the table of CONTRIBUTING', () => {
  const rows = tableRows();
  const place = (room: string): number => rows.findIndex((row) => row.includes(room));
  const arrows = arrowsOf(readSources('apps/api'), roomOf);
  expect([...arrows.keys()].filter((room) => place(room) < 0)).toEqual([]);
  const upwards = [...arrows].flatMap(([room, imported]) =>
    [...imported].filter((other) => !isBelow(rows, room, other)).map((other) => `${room} -> ${other}`),
  );
  expect(upwards).toEqual([]);
});

/** The names in the first column of the table of rooms, row by row. */
function tableRows(): string[][] {
  const [, table] = readText('CONTRIBUTING.md').split('| Rooms | What they do |\n');
  const lines = table.slice(0, table.indexOf('\n\n')).split('\n').slice(1);
  return lines.map((line) => [...line.split('|')[1].matchAll(/`([\w.-]+)`/g)].map(([, name]) => name));
}

/** Files of one row may import each other; folders of one row only those that are named after them. */
function isBelow(rows: readonly string[][], room: string, imported: string): boolean {
  const from = rows.findIndex((row) => row.includes(room));
  const to = rows.findIndex((row) => row.includes(imported));
  if (from !== to) return from < to;
  return room.endsWith('.ts') || rows[from].indexOf(room) < rows[from].indexOf(imported);
}

function readSources(part: string): Sources {
  const folder = join(import.meta.dirname, '../..', part, 'src');
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const code = paths.filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'));
  return new Map(code.map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
}

/** A folder is one room with all that is below it; a file beside the folders is a room by itself. */
const roomOf = (path: string): string => path.split('/')[0];

function arrowsOf(sources: Sources, placeOf: (path: string) => string): Arrows {
  const arrows = new Map<string, Set<string>>();
  for (const [path, text] of sources) {
    const from = placeOf(path);
    const imported = arrows.get(from) ?? new Set<string>();
    arrows.set(from, imported);
    for (const [, source] of text.matchAll(/(?:from|import)[\s(]+'(\.[^']+)'/g)) {
      const to = placeOf(normalize(join(dirname(path), source)));
      if (to !== from) imported.add(to);
    }
  }
  return arrows;
}

/** What a cycle goes through, or undefined when there is none. */
function cycleIn(arrows: Arrows): string[] | undefined {
  const done = new Set<string>();
  const visit = (room: string, trail: readonly string[]): string[] | undefined => {
    if (trail.includes(room)) return trail.slice(trail.indexOf(room));
    if (done.has(room)) return undefined;
    for (const next of arrows.get(room) ?? []) {
      const cycle = visit(next, [...trail, room]);
      if (cycle) return cycle;
    }
    done.add(room);
    return undefined;
  };
  for (const room of arrows.keys()) {
    const cycle = visit(room, []);
    if (cycle) return cycle;
  }
  return undefined;
}
