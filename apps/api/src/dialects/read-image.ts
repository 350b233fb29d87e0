import { LehrError, toObjectKey } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { StoredImage } from '@lehr/shared/records';

/** The bytes of a picture. Throws `gone` when it was deleted, and `storage-failed` when the store fails. */
export async function readImage(
  store: ObjectStore,
  { key }: Pick<StoredImage, 'key'>,
): Promise<Uint8Array<ArrayBuffer>> {
  const object = await store.get(toObjectKey(key));
  if (!object) throw new LehrError('gone', 'The picture has been deleted.');
  return new Uint8Array(await new Response(object.body).arrayBuffer());
}
