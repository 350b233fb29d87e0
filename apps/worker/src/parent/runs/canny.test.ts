import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cannyEdges } from './canny.ts';

interface Golden {
  readonly cases: readonly {
    readonly width: number;
    readonly height: number;
    readonly pixels: string;
    readonly edges: readonly string[];
  }[];
}

const GOLDEN = new URL('../../../../../test/golden/canny/opencv.json', import.meta.url);
const { cases }: Golden = JSON.parse(readFileSync(GOLDEN, 'utf8'));

test.each(cases.map((each) => [`${each.width}x${each.height}`, each] as const))(
  'The edges of a picture are those that OpenCV finds, in every pixel: %s',
  (_, { width, height, pixels, edges }) => {
    const found = cannyEdges(Buffer.from(pixels, 'base64'), { width, height });
    const line = (y: number): string =>
      Array.from({ length: width }, (_, x) => (found[(y * width + x) * 3] > 0 ? '#' : '.')).join('');
    expect(Array.from({ length: height }, (_, y) => line(y))).toEqual(edges);
  },
);

test('Edges are white on black in three equal channels, and a picture of one colour has none', () => {
  const size = { width: 16, height: 8 };
  const half = Uint8Array.from({ length: 16 * 8 * 3 }, (_, i) => (Math.floor(i / 3) % 16 < 8 ? 0 : 255));
  const found = cannyEdges(half, size);
  expect([...new Set(found)].sort()).toEqual([0, 255]);
  const columns = Array.from({ length: 16 }, (_, x) => [...found.subarray(x * 3, x * 3 + 3)]);
  expect(columns.flatMap((channels, x) => (channels.every((value) => value === 255) ? [x] : []))).toEqual([
    7,
  ]);
  expect(cannyEdges(new Uint8Array(16 * 8 * 3).fill(90), size).every((value) => value === 0)).toBe(true);
});
