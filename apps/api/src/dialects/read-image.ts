import { LehrError, toObjectKey } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { StoredImage } from '@lehr/shared/records';

/** The bytes of a picture. Throws `gone` when it is not kept any more, `storage-failed` when the store does not answer. */
export async function readImage(
  store: ObjectStore,
  { key }: Pick<StoredImage, 'key'>,
): Promise<Uint8Array<ArrayBuffer>> {
  const object = await store.get(toObjectKey(key));
  if (!object) throw new LehrError('gone', 'The picture is not kept any more.');
  return new Uint8Array(await new Response(object.body).arrayBuffer());
}
