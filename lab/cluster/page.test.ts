import { expect, test } from 'vitest';
import { page } from './page.ts';

test('A page whose results are missing stays as it is', () => {
  expect(page('text without marks', {})).toBe('text without marks');
});
