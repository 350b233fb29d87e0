/** The pixels of a stored picture, with sharp, off this thread. */
import { toObjectKey } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import sharp from 'sharp';

/** Of pictures that Lehr drew itself. */
const MAX_PIXELS = 16_000_000;

/** RGB, 8 bits, row-major. Undefined when the object is gone. Rejects when it is no picture. */
export async function storedPixels(
  store: Pick<ObjectStore, 'get'>,
  key: string,
): Promise<Uint8Array | undefined> {
  const object = await store.get(toObjectKey(key));
  if (!object) return undefined;
  const bytes = new Uint8Array(await new Response(object.body).arrayBuffer());
  return sharp(bytes, { limitInputPixels: MAX_PIXELS }).removeAlpha().toColourspace('srgb').raw().toBuffer();
}
