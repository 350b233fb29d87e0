/** The file is sound as a container, but holds a codec that no library here decodes. ffmpeg, where there is one, may. */
export class UnreadableCodec extends Error {
  override readonly name = 'UnreadableCodec';
  readonly codec: string;

  constructor(codec: string) {
    super(`No decoder for ${codec}`);
    this.codec = codec;
  }
}
