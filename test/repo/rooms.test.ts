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

test.each(['apps/api', 'apps/worker', 'packages/shared'])(
  'Every import in %s goes down its table in CONTRIBUTING',
  (part) => {
    const sources = readSources(part);
    expect(sources.size).toBeGreaterThan(100);
    expect(upwards(part, sources)).toEqual([]);
  },
);

test.each([
  ['apps/api', 'webhooks/planted.ts', "import type { submitJob } from '../jobs/submit.ts';"],
  ['apps/api', 'access/auth/planted.ts', "export { makeJob } from '../../jobs/requests/make-job.ts';"],
  ['apps/api', 'jobs/planted.ts', "const { createApp } = await import('../app.ts');"],
  ['apps/api', 'routes/planted.ts', "import { modelRoute } from '../dialects/models.ts';"],
  ['apps/worker', 'parent/delivery/planted.ts', "import type { JobRun } from '../runs/job-run.ts';"],
  ['apps/worker', 'parent/runs/planted.ts', "import type { Previews } from '../reports/previews.ts';"],
  [
    'apps/worker',
    'engine/lanes/planted.ts',
    "import { WhisperLane } from '../whisper/lane/whisper-lane.ts';",
  ],
  ['apps/worker', 'engine/text/planted.ts', "import type { Unet } from '../diffusion/unet.ts';"],
  ['packages/shared', 'base/planted.ts', "import { Keys } from '../redis/keys.ts';"],
])('In %s an import that goes up, or beside, is found in %s', (part, path, statement) => {
  expect(upwards(part, new Map([...readSources(part), [path, statement]]))).toHaveLength(1);
});

test('A room that no table names is found', () => {
  const statement = "import { z } from '../base/recent.ts';";
  expect(() => upwards('apps/api', new Map([['planted/planted.ts', statement]]))).toThrow('planted');
});

/** The arrows between rooms that do not go to a row below. Files of one row may import each other, folders may not. */
function upwards(part: string, sources: Sources): string[] {
  const rows = tableRows(part);
  const room = roomIn(rows.flat());
  const place = (name: string): number => rows.findIndex((row) => row.includes(name));
  const isAllowed = (from: string, to: string): boolean =>
    place(from) < place(to) || (from.endsWith('.ts') && place(from) === place(to));
  return [...arrowsOf(sources, room)].flatMap(([from, imported]) =>
    [...imported].filter((to) => !isAllowed(from, to)).map((to) => `${from} -> ${to}`),
  );
}

/** The names in the first column of the table of a part's rooms, row by row. */
function tableRows(part: string): string[][] {
  const [, table] = readText('CONTRIBUTING.md').split(`| Rooms of ${part} | What they do |\n`);
  const lines = table.slice(0, table.indexOf('\n\n')).split('\n').slice(1);
  return lines.map((line) => [...line.split('|')[1].matchAll(/`([\w./-]+)`/g)].map(([, name]) => name));
}

/** The longest name of the table that a path begins with: a folder without a row belongs to the room above it. */
function roomIn(names: readonly string[]): (path: string) => string {
  return (path) => {
    const parts = path.split('/');
    for (let length = parts.length; length > 0; length -= 1) {
      const name = parts.slice(0, length).join('/');
      if (names.includes(name)) return name;
    }
    throw new Error(`No table in CONTRIBUTING.md names a room of ${path}.`);
  };
}

function readSources(part: string): Sources {
  const folder = join(import.meta.dirname, '../..', part, 'src');
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const code = paths.filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'));
  return new Map(code.map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
}

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
