/** Random values that are the same on every machine: mulberry32 and the Box-Muller transform. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Uniform in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Normal values with mean 0 and the given standard deviation. */
  normals(count: number, deviation: number): Float32Array {
    return Float32Array.from({ length: count }, () => {
      const radius = Math.sqrt(-2 * Math.log(1 - this.next()));
      return deviation * radius * Math.cos(2 * Math.PI * this.next());
    });
  }
}
