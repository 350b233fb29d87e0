import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { SeededNoise } from './noise.ts';

interface GoldenDraw {
  readonly seed: number;
  readonly shape: readonly number[];
  readonly first32: readonly number[];
  readonly last16: readonly number[];
  readonly mean: number;
  readonly std: number;
  readonly secondDrawFirst16: readonly number[];
}

const TOLERANCE = 5e-7;
const golden: readonly GoldenDraw[] = JSON.parse(
  readFileSync(new URL('../../../../../test/golden/noise/torch-cpu-randn.json', import.meta.url), 'utf8'),
);

describe('SeededNoise', () => {
  it.each(golden)('Seed $seed and shape $shape give the values of torch', (want) => {
    const noise = new SeededNoise(want.seed);
    const length = want.shape.reduce((product, size) => product * size);
    const first = noise.draw(length);
    expectClose(first.slice(0, 32), want.first32);
    expectClose(first.slice(-16), want.last16);
    expectClose(noise.draw(length).slice(0, 16), want.secondDrawFirst16);
    const mean = first.reduce((sum, value) => sum + value, 0) / length;
    const variance = first.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (length - 1);
    expect(Math.abs(mean - want.mean)).toBeLessThan(TOLERANCE);
    expect(Math.abs(Math.sqrt(variance) - want.std)).toBeLessThan(TOLERANCE);
  });

  it('Seeds are taken modulo 2^32, also negative ones', () => {
    const values = new SeededNoise(5).draw(64);
    expect(new SeededNoise(2 ** 32 + 5).draw(64)).toEqual(values);
    expect(new SeededNoise(5 - 2 ** 32).draw(64)).toEqual(values);
    expect(new SeededNoise(6).draw(64)).not.toEqual(values);
  });

  it('For a length that is no multiple of 16, the last 16 values are drawn again', () => {
    const ragged = new SeededNoise(9).draw(20);
    const other = new SeededNoise(9);
    expect(ragged.slice(0, 4)).toEqual(other.draw(16).slice(0, 4));
    // Two values of a short draw use as many words as four uniforms.
    other.draw(2);
    expect(ragged.slice(4)).toEqual(other.draw(16));
  });

  it.each([3, 16, 250, 1000])(
    'A stream restored after a draw of %i values continues with the same bits',
    (length) => {
      const noise = new SeededNoise(77);
      noise.draw(length);
      const state = structuredClone(noise.state());
      const want = [noise.draw(5), noise.draw(700)];
      const resumed = new SeededNoise(0);
      resumed.restore(state);
      expect([resumed.draw(5), resumed.draw(700)]).toEqual(want);
    },
  );

  it('An invalid state is refused', () => {
    const noise = new SeededNoise(1);
    const state = { words: new Uint32Array(3), used: 0, spare: null };
    expect(() => noise.restore(state)).toThrow(expect.objectContaining({ code: 'internal' }));
  });
});

function expectClose(got: Float32Array, want: readonly number[]): void {
  expect(got).toHaveLength(want.length);
  for (const [i, value] of want.entries()) expect(Math.abs(got[i] - value)).toBeLessThan(TOLERANCE);
}
