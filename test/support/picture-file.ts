import { join } from 'node:path';
import sharp from 'sharp';
import { tempFolder } from './tiny-models.ts';

/** The format and the size in the header of a picture file. */
export interface PictureFile {
  readonly format: 'png' | 'jpeg' | 'webp';
  /** `WxH`; only for PNG. */
  readonly size?: string;
}

export function pictureFile(bytes: Uint8Array): PictureFile {
  const file = Buffer.from(bytes);
  if (file.toString('latin1', 1, 4) === 'PNG') {
    return { format: 'png', size: `${file.readUInt32BE(16)}x${file.readUInt32BE(20)}` };
  }
  if (file.readUInt16BE(0) === 0xffd8) return { format: 'jpeg' };
  if (file.toString('latin1', 8, 12) === 'WEBP') return { format: 'webp' };
  throw new Error(`no picture: ${file.subarray(0, 16).toString('hex')}`);
}

/** The compressed pixels of a PNG without its metadata: equal for equal pictures of one encoder. */
export function pixelData(png: Uint8Array): string {
  const file = Buffer.from(png);
  let data = '';
  for (let at = 8; at < file.length; ) {
    const length = file.readUInt32BE(at);
    if (file.toString('latin1', at + 4, at + 8) === 'IDAT')
      data += file.toString('hex', at + 8, at + 8 + length);
    at += 12 + length;
  }
  if (data === '') throw new Error('no PNG');
  return data;
}

/** The path of a PNG of 64 x 64 pixels, all of one colour. */
export async function flatPicture(background: string): Promise<string> {
  const path = join(await tempFolder('picture'), 'picture.png');
  await sharp({ create: { width: 64, height: 64, channels: 4, background } })
    .png()
    .toFile(path);
  return path;
}
