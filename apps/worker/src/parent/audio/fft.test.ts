import { describe, expect, it } from 'vitest';
import { Fft } from './fft.ts';

describe('Fft', () => {
  it.each([400, 512, 64, 20, 2])('A transform of size %i is the sum that defines it', (size) => {
    const fft = new Fft(size);
    const re = Array.from({ length: size }, (_, i) => Math.sin(i * i));
    const im = Array.from({ length: size }, (_, i) => Math.cos(3 * i + 1));
    fft.input.re.set(re);
    fft.input.im.set(im);
    const got = fft.transform();
    for (let k = 0; k < size; k++) {
      let [wantRe, wantIm] = [0, 0];
      for (let n = 0; n < size; n++) {
        const angle = (-2 * Math.PI * k * n) / size;
        wantRe += re[n] * Math.cos(angle) - im[n] * Math.sin(angle);
        wantIm += re[n] * Math.sin(angle) + im[n] * Math.cos(angle);
      }
      expect(got.re[k]).toBeCloseTo(wantRe, 9);
      expect(got.im[k]).toBeCloseTo(wantIm, 9);
    }
  });

  it('A transform of a size that is no product of 2, 4 and 5 is refused', () => {
    expect(() => new Fft(12)).toThrow('This is a bug in Lehr.');
  });
});
