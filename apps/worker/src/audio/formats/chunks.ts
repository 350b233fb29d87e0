/** The bytes in pieces of at most the given length, as views. */
export function* chunksOf(bytes: Uint8Array, length: number): Generator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}
