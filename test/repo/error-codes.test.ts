/** Every code of the closed list of errors is one that a test provokes and expects. */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { ERROR_CODES } from '../../packages/shared/src/base/errors.ts';
import { ROOT, readText } from './readme.ts';

const MATCHER =
  /\b(?:to(?:Be|Equal|StrictEqual|MatchObject|Contain|ContainEqual|Match|Throw)|objectContaining)\(/g;

/** The arguments of all matchers of a test file: what it expects, without the inputs it makes up. */
const expectationsOf = (source: string): string[] =>
  [...source.matchAll(MATCHER)].map(({ index, 0: { length } }) => upToItsEnd(source, index + length));

/** Up to the parenthesis that closes the one before `start`. Parentheses in texts count too: they come in pairs, or end it early. */
function upToItsEnd(source: string, start: number): string {
  let depth = 1;
  for (let at = start; at < source.length; at++) {
    if (source[at] === '(') depth += 1;
    if (source[at] === ')') depth -= 1;
    if (depth === 0) return source.slice(start, at);
  }
  return source.slice(start);
}

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.test.ts'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .trim()
  .split('\n');
const expectations = files
  .filter((path) => !path.endsWith('error-codes.test.ts'))
  .flatMap((path) => expectationsOf(readText(path)))
  .join('\n');

test.each(Object.keys(ERROR_CODES))('The error code %s is expected by a test', (code) => {
  expect(expectations).toMatch(new RegExp(`(?:code: |problem:|^|\\[)'?${code}['\`]`, 'm'));
});
