/** The texts of a job: in its record, or, if they are many, in the object store. */
import { LehrError, type TextItem, TextItemsSchema, type TextsSource, toObjectKey } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';

/** Rejects with a LehrError: `invalid-input` or `storage-failed`. */
export type FetchTexts = (texts: TextsSource, signal: AbortSignal) => Promise<readonly TextItem[]>;

export const textSource =
  (store: ObjectStore): FetchTexts =>
  async (texts, signal) => {
    if (!('kind' in texts)) return texts;
    const object = await store.get(toObjectKey(texts.key));
    if (!object) throw new LehrError('invalid-input', 'The texts of the job have been deleted.');
    const chunks: Uint8Array[] = [];
    for await (const chunk of object.body) {
      signal.throwIfAborted();
      chunks.push(chunk);
    }
    return TextItemsSchema.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')));
  };
