import { expect, test } from 'vitest';
import { cancelAfterS } from './create.ts';

test.each([
  ['90s', 90],
  ['5m', 300],
  ['1h30m', 5400],
  ['1h5s', 3605],
  [' 5s ', 5],
  ['9999h', 604_800],
])('`Cancel-After: %s` is %i s', (header, seconds) => {
  expect(cancelAfterS(header)).toBe(seconds);
});

test.each(['', '4s', '0m', '90', '1.5m', '-5s', '5s1h', 'soon', '1d'])(
  '`Cancel-After: %s` is refused',
  (header) => {
    expect(() => cancelAfterS(header)).toThrow('cancel-after must be a time of at least 5 s');
  },
);
