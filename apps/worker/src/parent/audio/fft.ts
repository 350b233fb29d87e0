/** Discrete Fourier transform of complex numbers, for sizes that are products of 2, 4 and 5: Stockham's autosort algorithm. */

export interface Complex {
  readonly re: Float64Array;
  readonly im: Float64Array;
}

interface Stage {
  readonly radix: 2 | 4 | 5;
  /** Distance between the transforms of the earlier stages. */
  readonly stride: number;
  /** Butterflies per stride. */
  readonly count: number;
  /** exp(-2 pi i p j / (radix * count)) at [p * radix + j]. */
  readonly twiddle: Complex;
}

const complex = (length: number): Complex => ({ re: new Float64Array(length), im: new Float64Array(length) });

export class Fft {
  /** To be filled before each transform. It and the result of `transform` are reused. */
  readonly input: Complex;
  readonly #other: Complex;
  readonly #stages: readonly Stage[];

  constructor(size: number) {
    this.input = complex(size);
    this.#other = complex(size);
    this.#stages = stagesOf(size);
  }

  transform(): Complex {
    let [from, to] = [this.input, this.#other];
    for (const stage of this.#stages) {
      PASSES[stage.radix](stage, from, to);
      [from, to] = [to, from];
    }
    return from;
  }
}

function stagesOf(size: number): Stage[] {
  const stages: Stage[] = [];
  for (let rest = size, stride = 1; rest > 1; ) {
    const radix = rest % 5 === 0 ? 5 : rest % 4 === 0 ? 4 : 2;
    if (rest % radix !== 0)
      throw new Error(`No transform of size ${size}: it is no product of 2, 4 and 5. This is a bug in Lehr.`);
    const count = rest / radix;
    const twiddle = complex(rest);
    for (let p = 0; p < count; p++) {
      for (let j = 0; j < radix; j++) {
        const angle = (-2 * Math.PI * p * j) / rest;
        twiddle.re[p * radix + j] = Math.cos(angle);
        twiddle.im[p * radix + j] = Math.sin(angle);
      }
    }
    stages.push({ radix, stride, count, twiddle });
    stride *= radix;
    rest = count;
  }
  return stages;
}

function pass2({ stride, count, twiddle }: Stage, { re, im }: Complex, to: Complex): void {
  const far = stride * count;
  for (let p = 0; p < count; p++) {
    for (let q = 0; q < stride; q++) {
      const a = q + stride * p;
      const b = a + far;
      const at = q + stride * 2 * p;
      put(to, at, re[a] + re[b], im[a] + im[b], twiddle, 2 * p);
      put(to, at + stride, re[a] - re[b], im[a] - im[b], twiddle, 2 * p + 1);
    }
  }
}

function pass4({ stride, count, twiddle }: Stage, { re, im }: Complex, to: Complex): void {
  const far = stride * count;
  for (let p = 0; p < count; p++) {
    for (let q = 0; q < stride; q++) {
      const a = q + stride * p;
      const b = a + far;
      const c = b + far;
      const d = c + far;
      const [acRe, acIm, acRe2, acIm2] = [re[a] + re[c], im[a] + im[c], re[a] - re[c], im[a] - im[c]];
      const [bdRe, bdIm, bdRe2, bdIm2] = [re[b] + re[d], im[b] + im[d], re[b] - re[d], im[b] - im[d]];
      const at = q + stride * 4 * p;
      put(to, at, acRe + bdRe, acIm + bdIm, twiddle, 4 * p);
      put(to, at + stride, acRe2 + bdIm2, acIm2 - bdRe2, twiddle, 4 * p + 1);
      put(to, at + 2 * stride, acRe - bdRe, acIm - bdIm, twiddle, 4 * p + 2);
      put(to, at + 3 * stride, acRe2 - bdIm2, acIm2 + bdRe2, twiddle, 4 * p + 3);
    }
  }
}

const COS1 = Math.cos((2 * Math.PI) / 5);
const COS2 = Math.cos((4 * Math.PI) / 5);
const SIN1 = Math.sin((2 * Math.PI) / 5);
const SIN2 = Math.sin((4 * Math.PI) / 5);

function pass5({ stride, count, twiddle }: Stage, { re, im }: Complex, to: Complex): void {
  const far = stride * count;
  for (let p = 0; p < count; p++) {
    for (let q = 0; q < stride; q++) {
      const a = q + stride * p;
      const b = a + far;
      const c = b + far;
      const d = c + far;
      const e = d + far;
      // Inputs 1 and 4, and 2 and 3, meet conjugate roots: their sums meet cosines, their differences sines.
      const [sum1Re, sum1Im, dif1Re, dif1Im] = [re[b] + re[e], im[b] + im[e], re[b] - re[e], im[b] - im[e]];
      const [sum2Re, sum2Im, dif2Re, dif2Im] = [re[c] + re[d], im[c] + im[d], re[c] - re[d], im[c] - im[d]];
      const even1Re = re[a] + COS1 * sum1Re + COS2 * sum2Re;
      const even1Im = im[a] + COS1 * sum1Im + COS2 * sum2Im;
      const even2Re = re[a] + COS2 * sum1Re + COS1 * sum2Re;
      const even2Im = im[a] + COS2 * sum1Im + COS1 * sum2Im;
      const odd1Re = SIN1 * dif1Im + SIN2 * dif2Im;
      const odd1Im = SIN1 * dif1Re + SIN2 * dif2Re;
      const odd2Re = SIN2 * dif1Im - SIN1 * dif2Im;
      const odd2Im = SIN2 * dif1Re - SIN1 * dif2Re;
      const at = q + stride * 5 * p;
      put(to, at, re[a] + sum1Re + sum2Re, im[a] + sum1Im + sum2Im, twiddle, 5 * p);
      put(to, at + stride, even1Re + odd1Re, even1Im - odd1Im, twiddle, 5 * p + 1);
      put(to, at + 2 * stride, even2Re + odd2Re, even2Im - odd2Im, twiddle, 5 * p + 2);
      put(to, at + 3 * stride, even2Re - odd2Re, even2Im + odd2Im, twiddle, 5 * p + 3);
      put(to, at + 4 * stride, even1Re - odd1Re, even1Im + odd1Im, twiddle, 5 * p + 4);
    }
  }
}

function put(to: Complex, at: number, re: number, im: number, twiddle: Complex, w: number): void {
  to.re[at] = re * twiddle.re[w] - im * twiddle.im[w];
  to.im[at] = re * twiddle.im[w] + im * twiddle.re[w];
}

const PASSES = { 2: pass2, 4: pass4, 5: pass5 };
