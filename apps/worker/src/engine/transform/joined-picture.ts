/** A picture that is made of the results of its tiles, in the order of the plan. It has its memory, and a strip for one seam. */
import type { PictureSize } from '../values/resize.ts';
import type { Span, TilePlan } from './tiles.ts';

const CHANNELS = 3;

export class JoinedPicture {
  readonly pixels: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
  readonly #plan: TilePlan;
  readonly #scale: number;
  /** What the row of tiles above gives for the seam to the row that is being joined. */
  #above = new Uint8ClampedArray(0);
  #next = 0;

  constructor(picture: PictureSize, plan: TilePlan, scale: number) {
    this.width = picture.width * scale;
    this.height = picture.height * scale;
    this.pixels = new Uint8ClampedArray(this.width * this.height * CHANNELS);
    this.#plan = plan;
    this.#scale = scale;
  }

  /** The result of the next tile: values of 0 to 255, `[height, width, 3]`, of the whole tile, which is `tileWidth` wide. */
  add(values: Float32Array, tileWidth: number): void {
    const { rows, columns } = this.#plan;
    const row = rows[Math.floor(this.#next / columns.length)];
    const column = columns[this.#next % columns.length];
    if (column === columns[0]) this.#keepAbove(row);
    this.#write(values, tileWidth, row, column);
    this.#next += 1;
    if (column === columns[columns.length - 1]) this.#mixWithAbove(row);
  }

  #write(values: Float32Array, tileWidth: number, row: Span, column: Span): void {
    const scale = this.#scale;
    const [top, bottom, left, right] = [row.from, row.to, column.from, column.to].map((at) => at * scale);
    const ramp = column.ramp * scale;
    for (let y = top; y < bottom; y += 1) {
      let target = (y * this.width + left) * CHANNELS;
      let source = ((y - row.at * scale) * tileWidth + left - column.at * scale) * CHANNELS;
      for (let x = 0; x < ramp; x += 1) {
        const weight = (x + 0.5) / ramp;
        for (let channel = 0; channel < CHANNELS; channel += 1, target += 1, source += 1) {
          const before = this.pixels[target];
          this.pixels[target] = before + (clamped(values[source]) - before) * weight;
        }
      }
      // Rounds half to even and clamps, as numpy does in diffusers.
      this.pixels.set(values.subarray(source, source + (right - left - ramp) * CHANNELS), target);
    }
  }

  /** The rows of pixels of a seam between rows of tiles. */
  #seam({ from, ramp }: Span): Uint8ClampedArray {
    const start = from * this.#scale * this.width * CHANNELS;
    return this.pixels.subarray(start, start + ramp * this.#scale * this.width * CHANNELS);
  }

  #keepAbove(row: Span): void {
    this.#above = this.#seam(row).slice();
  }

  #mixWithAbove(row: Span): void {
    const seam = this.#seam(row);
    const stride = this.width * CHANNELS;
    const ramp = row.ramp * this.#scale;
    for (let i = 0; i < seam.length; i += 1) {
      const weight = (Math.floor(i / stride) + 0.5) / ramp;
      seam[i] = this.#above[i] + (seam[i] - this.#above[i]) * weight;
    }
  }
}

const clamped = (value: number): number => Math.min(255, Math.max(0, value));
