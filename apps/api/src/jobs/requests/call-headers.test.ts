import { expect, test } from 'vitest';
import { preferredWaitS } from './call-headers.ts';

test.each([
  ['wait=10', 10],
  ['wait="10"', 10],
  ['WAIT = 10', 10],
  ['respond-async, wait=10', 10],
  ['handling=lenient; wait=5', 5],
  ['wait', 60],
  ['wait=0', 1],
  ['wait=3600', 60],
])('`Prefer: %s` asks for a wait of %i s', (header, seconds) => {
  expect(preferredWaitS(header)).toBe(seconds);
});

test.each([undefined, '', 'respond-async', 'wait=', 'wait=soon', 'wait=-5', 'await=10', 'wait=1.5'])(
  '`Prefer: %s` asks for no wait',
  (header) => {
    expect(preferredWaitS(header)).toBeUndefined();
  },
);
