import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toFloat16, toFloat32 } from './half.ts';

/** [float32 value, half bits], from numpy 2.4: `np.float32(v).astype(np.float16).view(np.uint16)`. */
const KNOWN: readonly [number, number][] = [
  [0, 0],
  [-0, 32768],
  [1, 15360],
  [-2.5, 49408],
  [65504, 31743],
  [65519, 31743],
  [65520, 31744],
  [-1e9, 64512],
  [2 ** -14, 1024],
  [6.1e-5, 1023],
  [2 ** -24, 1],
  [2 ** -25, 0],
  [2.980232594040899e-8, 1],
  [1.5 * 2 ** -24, 2],
  [1e-10, 0],
  [0.1, 11878],
  [1 / 3, 13653],
  [1.00048828125, 15360],
  [1.00146484375, 15362],
  [2049, 26624],
  [2051, 26626],
  [Number.POSITIVE_INFINITY, 31744],
  [Number.NEGATIVE_INFINITY, 64512],
];

test('Float32 values round to the same halves as in numpy', () => {
  expect([...toFloat16(KNOWN.map(([value]) => value))]).toEqual(KNOWN.map(([, half]) => half));
});

test('Values in a Float32Array convert as single ones do, also where some are too small or too large for a normal half', () => {
  const normal = KNOWN.filter(([value]) => Math.abs(value) >= 2 ** -14 && Math.abs(value) < 65504);
  for (const known of [KNOWN, normal]) {
    const values = Float32Array.of(9, ...known.map(([value]) => value));
    expect([...toFloat16(values.subarray(1))]).toEqual(known.map(([, half]) => half));
  }
});

test('Any values in a Float32Array convert as single ones do, NaN, infinities and subnormals as well', () => {
  const float = fc.oneof(
    fc.float(),
    fc.float({ min: -4, max: 4 }),
    fc.integer({ min: 0, max: 0xffffffff }).map((bits) => new Float32Array(Uint32Array.of(bits).buffer)[0]),
  );
  fc.assert(
    fc.property(fc.array(float, { maxLength: 50 }), (values) => {
      expect([...toFloat16(Float32Array.from(values))]).toEqual([...toFloat16(values)]);
    }),
    { numRuns: 1000 },
  );
});

test('Every half converts to float32 and back, and a NaN stays a NaN', () => {
  const halves = Uint16Array.from({ length: 0x10000 }, (_, half) => half);
  const floats = toFloat32(halves);
  const isNan = (half: number) => (half & 0x7c00) === 0x7c00 && (half & 0x3ff) !== 0;
  const wrong = [...toFloat16(floats)].filter((half, i) =>
    isNan(i) ? !Number.isNaN(floats[i]) || !isNan(half) : half !== i,
  );
  expect(wrong).toEqual([]);
});

test('A float32 value rounds to the nearest half, and a tie to the even one', () => {
  const floats = toFloat32(Uint16Array.from({ length: 0x7c00 }, (_, half) => half));
  const wrong: number[] = [];
  for (let half = 0; half + 1 < floats.length; half += 1) {
    const middle = (floats[half] + floats[half + 1]) / 2;
    const even = half % 2 === 0 ? half : half + 1;
    if (toFloat16([middle])[0] !== even) wrong.push(half);
  }
  expect(wrong).toEqual([]);
});
