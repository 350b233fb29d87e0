/** The rooms of apps/api import each other in one direction only, type imports included. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

const API = join(import.meta.dirname, '../../apps/api/src');

/** Source text by path inside apps/api/src. */
type Sources = ReadonlyMap<string, string>;
/** The rooms that each room imports. */
type Arrows = ReadonlyMap<string, ReadonlySet<string>>;

test('The rooms of apps/api import each other without a cycle', () => {
  const sources = readSources();
  const arrows = arrowsOf(sources);
  expect(sources.size).toBeGreaterThan(100);
  expect(arrows.get('routes')).toContain('jobs');
  expect(cycleIn(arrows)).toBeUndefined();
});

test('A planted import that closes a cycle is found', () => {
  const planted: [path: string, statement: string][] = [
    ['webhooks/planted.ts', "import type { submitJob } from '../jobs/submit.ts';"],
    ['auth/planted.ts', "export { makeJob } from '../calls/make-job.ts';"],
    ['jobs/planted.ts', "const { createApp } = await import('../app.ts');"],
  ];
  for (const [path, statement] of planted) {
    const cycle = cycleIn(arrowsOf(new Map([...readSources(), [path, statement]])));
    expect(cycle, statement).toContain(dirname(path));
  }
});

function readSources(): Sources {
  const paths = readdirSync(API, { recursive: true, encoding: 'utf8' });
  const code = paths.filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'));
  return new Map(code.map((path) => [path, readFileSync(join(API, path), 'utf8')]));
}

/** A folder is one room with all that is below it; a file beside the folders is a room by itself. */
const roomOf = (path: string): string => path.split('/')[0];

function arrowsOf(sources: Sources): Arrows {
  const arrows = new Map<string, Set<string>>();
  for (const [path, text] of sources) {
    const from = roomOf(path);
    const imported = arrows.get(from) ?? new Set<string>();
    arrows.set(from, imported);
    for (const [, source] of text.matchAll(/(?:from|import)[\s(]+'(\.[^']+)'/g)) {
      const to = roomOf(normalize(join(dirname(path), source)));
      if (to !== from) imported.add(to);
    }
  }
  return arrows;
}

/** The rooms of a cycle, or undefined when there is none. */
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
