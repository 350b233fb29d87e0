/** Pearson's correlation of two signals of equal length: 1 if they differ only in scale and offset, 0 if they are unrelated. */
export function correlation(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const mean = (values: ArrayLike<number>) =>
    Array.from(values).reduce((sum, each) => sum + each, 0) / values.length;
  const [meanA, meanB] = [mean(a), mean(b)];
  let [both, ofA, ofB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    both += (a[i] - meanA) * (b[i] - meanB);
    ofA += (a[i] - meanA) ** 2;
    ofB += (b[i] - meanB) ** 2;
  }
  return both / Math.sqrt(ofA * ofB);
}

/** RGB pixels averaged over squares of `block` x `block`, which must divide width and height. */
export function shrinkPixels(
  pixels: ArrayLike<number>,
  { width, height }: { readonly width: number; readonly height: number },
  block: number,
): Float64Array {
  const columns = width / block;
  const small = new Float64Array(columns * (height / block) * 3);
  for (let i = 0; i < width * height * 3; i++) {
    const [y, x] = [Math.floor(i / 3 / width), Math.floor(i / 3) % width];
    small[(Math.floor(y / block) * columns + Math.floor(x / block)) * 3 + (i % 3)] += pixels[i] / block ** 2;
  }
  return small;
}
