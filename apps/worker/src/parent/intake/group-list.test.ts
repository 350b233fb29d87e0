import type { Keys, Redis } from '@lehr/shared/redis';
import { expect, test } from 'vitest';
import { GroupList } from './group-list.ts';

/** Lists that arrive when the test says so. */
function slowLists(): { redis: Redis; arrive: (...groups: string[]) => void } {
  const asked: ((groups: string[]) => void)[] = [];
  const redis = { smembers: () => new Promise((resolve) => asked.push(resolve)) };
  return { redis: redis as unknown as Redis, arrive: (...groups) => asked.shift()?.(groups) };
}
const KEYS = { groups: 'groups' } as Keys;

test('Only groups that the worker serves are listed, each once', async () => {
  const { redis, arrive } = slowLists();
  const list = new GroupList(redis, KEYS, (group) => group.startsWith('a'));
  const loaded = list.load();
  arrive('a1', 'b1');
  await loaded;
  expect([list.add('a2'), list.add('a2'), list.add('b2')]).toEqual([true, false, false]);
  expect(list.names).toEqual(['a1', 'a2']);
});

test('The models of the listed groups are known', async () => {
  const list = new GroupList(slowLists().redis, KEYS, () => true);
  for (const group of ['diffusion.a@1.64x64', 'diffusion.a@1.96x64', 'whisper.b@2']) list.add(group);
  expect(list.models).toEqual(['a@1', 'b@2']);
  list.remove('whisper.b@2');
  list.remove('diffusion.a@1.96x64');
  expect(list.models).toEqual(['a@1']);
});

test('What is announced while the list is read counts more than the list', async () => {
  const { redis, arrive } = slowLists();
  const list = new GroupList(redis, KEYS, () => true);
  const [first, second] = [list.load(), list.load()];
  list.add('new');
  list.remove('retired');
  arrive('old', 'retired');
  await first;
  list.add('newer');
  arrive('old', 'retired');
  await second;
  expect(list.names).toEqual(['old', 'new', 'newer']);
});

test('A retired group is forgotten, and its next announcement counts as new', async () => {
  const { redis } = slowLists();
  const list = new GroupList(redis, KEYS, () => true);
  list.add('a');
  list.remove('a');
  expect(list.names).toEqual([]);
  expect(list.add('a')).toBe(true);
});
