import { expect, test } from 'vitest';
import { LeastSquares } from './least-squares.ts';

/** Values from -1 to 1 without a simple relation between them. */
const column = (key: number): Float32Array =>
  Float32Array.from({ length: 200 }, (_, i) => Math.sin(key * 97 + i * i * 0.37 + i * key));

test('A linear relation is found exactly, for several right-hand sides and over several additions', () => {
  const fit = new LeastSquares(3, 2);
  for (const part of [1, 2]) {
    const known = [column(part), column(part + 5), new Float32Array(200).fill(1)];
    const side = (a: number, b: number, bias: number) =>
      Float32Array.from(known[0], (value, i) => a * value + b * known[1][i] + bias);
    fit.add(known, [side(40, -25, 128), side(-3, 60, 90)]);
  }
  expect(fit.count).toBe(400);
  const [first, second] = fit.solve();
  for (const [i, value] of [40, -25, 128].entries()) expect(first[i]).toBeCloseTo(value, 3);
  for (const [i, value] of [-3, 60, 90].entries()) expect(second[i]).toBeCloseTo(value, 3);
});

test('An unknown that is always 0 in the data is solved as 0 and does not change the others', () => {
  const fit = new LeastSquares(2, 1);
  fit.add([new Float32Array(200), column(3)], [column(3).map((value) => 7 * value)]);
  const [[dead, live]] = fit.solve();
  expect(dead).toBe(0);
  expect(live).toBeCloseTo(7, 5);
});
