/** The file is sound as a container, but holds a codec that no library here decodes. ffmpeg, where there is one, may. */
export class UnreadableCodec extends Error {
  override readonly name = 'UnreadableCodec';
  readonly codec: string;

  /** `codec` may be what a container calls it, whatever that is: it is only shown when it can be shown to anybody. */
  constructor(codec: unknown) {
    const isPlain = typeof codec === 'string' && /^[\w ./-]{1,32}$/.test(codec);
    const name = isPlain ? codec : 'unknown sound';
    super(`No decoder for ${name}`);
    this.codec = name;
  }
}
