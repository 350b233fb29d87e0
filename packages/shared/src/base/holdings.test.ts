import { expect, test } from 'vitest';
import { Holdings } from './holdings.ts';

test('What is given back counts neither for its owner nor in all', () => {
  const bytes = new Holdings();
  bytes.add('ada', 3);
  bytes.add('grace', 4);
  bytes.add('ada', 2);
  expect([bytes.of('ada'), bytes.of('grace'), bytes.total]).toEqual([5, 4, 9]);
  bytes.add('ada', -5);
  expect([bytes.of('ada'), bytes.of('nobody'), bytes.total]).toEqual([0, 0, 4]);
});
