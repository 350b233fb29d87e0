/** A frame whose bits cannot be what an encoder wrote: it is left out, and the next one may be good. */
export class DamagedFrame extends Error {
  override readonly name = 'DamagedFrame';
}
