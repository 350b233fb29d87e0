import { expect, test } from 'vitest';
import { BLOCK, normalBlock } from './normal-stream.ts';

const HALF = BLOCK / 2;

test('The values equal those of Math.cos and Math.sin in float32, over the whole circle', () => {
  const count = 4000;
  let worst = 0;
  for (let i = 0; i < count; i += HALF) {
    const block = new Float32Array(BLOCK);
    for (let j = 0; j < HALF; j++) {
      block[j] = 0.5;
      block[HALF + j] = (i + j) / count;
    }
    const radius = Math.fround(Math.sqrt(Math.fround(-2 * Math.fround(Math.log(0.5)))));
    const angles = block.slice(HALF).map((turns) => Math.fround(2 * Math.PI) * turns);
    normalBlock(block, 0);
    for (const [j, angle] of angles.entries()) {
      worst = Math.max(worst, Math.abs(block[j] - Math.fround(radius * Math.cos(angle))));
      worst = Math.max(worst, Math.abs(block[HALF + j] - Math.fround(radius * Math.sin(angle))));
    }
  }
  // A step of float32 between 1 and 2; the values are below 1.2.
  expect(worst).toBeLessThanOrEqual(2 ** -23);
});

test('The largest uniform value below 1 gives finite values', () => {
  const block = new Float32Array(BLOCK).fill(1 - 2 ** -24);
  normalBlock(block, 0);
  expect(block.every(Number.isFinite)).toBe(true);
});
