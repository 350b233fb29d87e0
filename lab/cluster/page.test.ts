import { expect, test } from 'vitest';
import { between, page } from './page.ts';

test('Tables replace what is between their marks, and nothing else', () => {
  expect(between('a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb', 'x', ['new'])).toBe(
    'a\n<!-- x: begin -->\nnew\n<!-- x: end -->\nb',
  );
  expect(() => between('no marks', 'x', ['new'])).toThrow('has no marks');
});

test('A page whose results are missing stays as it is', () => {
  expect(page('text without marks', {})).toBe('text without marks');
});
