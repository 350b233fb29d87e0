import { parsePools, parseRegistry } from '@lehr/shared';
import { expect, test } from 'vitest';
import { poolOf } from './scale-state.ts';

const REGISTRY = parseRegistry(`
models:
  - { name: sd, task: diffusion, versions: [{ version: "1", path: a }, { version: "2", path: b }] }
  - { name: ears, task: whisper, versions: [{ version: "1", path: c }] }
  - { name: words, task: text, tasks: [text-embedding], versions: [{ version: "1", path: d }] }
`);
const POOLS = parsePools(
  'pools: [{ name: new, models: [sd@2] }, { name: old, models: [sd@1] }, { name: speech, tasks: [whisper] }]',
  REGISTRY,
);
const nameOf = (ref: string): string | undefined => poolOf(POOLS, REGISTRY, ref)?.name;

test('A model version is in the pool that names it, or that has its task', () => {
  expect(nameOf('sd@2')).toBe('new');
  expect(nameOf('sd@1')).toBe('old');
  expect(nameOf('ears@1')).toBe('speech');
});

test('A model that no pool covers, and one that models.yaml does not have, are in no pool', () => {
  expect(nameOf('words@1')).toBeUndefined();
  expect(nameOf('sd@3')).toBeUndefined();
  expect(nameOf('other@1')).toBeUndefined();
  expect(nameOf('sd')).toBeUndefined();
});
