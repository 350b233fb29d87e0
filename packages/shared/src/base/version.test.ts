import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { OWN_VERSION } from './version.ts';

test('The version in the code is the one of the package', () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(OWN_VERSION).toBe(version);
});
