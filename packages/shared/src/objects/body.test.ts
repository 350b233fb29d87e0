import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { sha256Hex } from './body.ts';

const MB = 1024 * 1024;

test.each([0, 1, MB - 1, MB, MB + 1, 3 * MB + 7])(
  'The SHA-256 of %d bytes is that of the whole body',
  async (length) => {
    const body = new Uint8Array(length).map((_, i) => i % 251);
    expect(await sha256Hex(body)).toBe(createHash('sha256').update(body).digest('hex'));
  },
);

test('Other work runs between the slices of a large body', async () => {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await sha256Hex(new Uint8Array(25 * MB));
  isDone = true;
  expect(turns).toBeGreaterThanOrEqual(24);
});
