/** The pictures that guide a sample: what each row of its next call gets of them, and which of them a model makes first. */
import type { ControlUse } from '../../protocol/messages.ts';
import { type PictureSize, resizePixels } from '../../values/resize.ts';
import type { RowControl } from './control-nets.ts';

const CHANNELS = 3;

/** A picture that a model makes of another one. */
export interface ControlToMake extends PictureSize {
  /** Of the sample's controls. */
  readonly index: number;
  /** `name@version` */
  readonly model: string;
  readonly pixels: Uint8Array;
}

/** Both passes of a sample share one; the second has its pictures enlarged. */
export class SampleControls {
  readonly #uses: readonly ControlUse[];
  /** Of the first pass. */
  readonly #size: PictureSize;
  /** What models have made, by the index of the control. */
  readonly #made = new Map<number, Uint8Array>();
  /** The pictures as the graphs take them, at one size. */
  #values: { readonly size: PictureSize; readonly pictures: readonly Float32Array[] } | undefined;

  constructor(uses: readonly ControlUse[], { width, height }: PictureSize) {
    this.#uses = uses;
    this.#size = { width, height };
  }

  /** The next picture that a model must make before the first step. */
  get toMake(): ControlToMake | undefined {
    const made = this.#made;
    const index = this.#uses.findIndex(({ preprocess }, i) => preprocess !== undefined && !made.has(i));
    const { preprocess: model, pixels } = this.#uses[index] ?? {};
    return model === undefined || !pixels ? undefined : { index, model, pixels, ...this.#size };
  }

  /** Takes a picture that a model has made, which may have another size. */
  setMade(index: number, pixels: Uint8Array, from: PictureSize): void {
    this.#made.set(index, resizePixels(pixels, from, this.#size, 'lanczos'));
  }

  /**
   * Those that are open at this call, as in diffusers: a call of which no part is outside of `start` to `end`. `size`: of the pass. The same
   * arrays from call to call, so that they are copied once.
   */
  at(call: number, calls: number, size: PictureSize): readonly RowControl[] {
    if (this.#uses.length === 0) return [];
    const pictures = this.#at(size);
    return this.#uses.flatMap(({ name, scale, start, end }, i) =>
      call / calls < start || (call + 1) / calls > end || scale === 0
        ? []
        : [{ name, scale, picture: pictures[i] }],
    );
  }

  #at(size: PictureSize): readonly Float32Array[] {
    const kept = this.#values;
    if (kept && kept.size.width === size.width && kept.size.height === size.height) return kept.pictures;
    const pictures = this.#uses.map(({ pixels }, i) =>
      toValues(resizePixels(this.#made.get(i) ?? pixels, this.#size, size, 'lanczos')),
    );
    this.#values = { size: { width: size.width, height: size.height }, pictures };
    return pictures;
  }
}

/** Bytes `[height, width, 3]` to `[3, height, width]` from 0 to 1. */
function toValues(pixels: Uint8Array): Float32Array {
  const size = pixels.length / CHANNELS;
  const values = new Float32Array(pixels.length);
  for (let channel = 0; channel < CHANNELS; channel += 1) {
    for (let i = 0; i < size; i += 1) values[channel * size + i] = pixels[i * CHANNELS + channel] / 255;
  }
  return values;
}
