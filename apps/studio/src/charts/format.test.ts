import { expect, test } from 'vitest';
import { valueText } from './format.ts';

test.each([
  ['seconds', 0, '0 s'],
  ['seconds', 0.0421, '42.1 ms'],
  ['seconds', 4.2069, '4.21 s'],
  ['seconds', 600, '10 min'],
  ['seconds', 86_400, '24 h'],
  ['count', 0.5, '0.5'],
  ['count', 12_345.6, '12,346'],
  ['ratio', 0.4217, '42.2 %'],
  ['per_minute', 12, '12 a minute'],
] as const)('A value in %s is shown with its unit and three digits: %s', (unit, value, text) => {
  expect(valueText(unit, value)).toBe(text);
});
