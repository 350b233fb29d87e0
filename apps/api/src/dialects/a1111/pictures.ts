/** Pictures in requests of the web UI's clients: base64, bare or as a `data:` URI. */
import type { Context } from 'hono';
import { refusal } from '../../base/field-problems.ts';
import { decodeDataUri, type InlineAudio, isDataUri, referenceIn } from '../../http/bodies/inline-audio.ts';
import type { ApiEnv } from '../../http/middleware/api-env.ts';

/** What the native `image` takes: a URL as it is, and base64 as a `data:` URI. The worker detects the format from the bytes. */
export const pictureReference = (text: string): string =>
  isDataUri(text) || /^https?:/i.test(text) ? text : `data:image/png;base64,${text}`;

/** The bytes of a picture in the field `pointer`. Throws `invalid-input`. */
export function pictureBytes(c: Context<ApiEnv>, text: string, pointer: string): Uint8Array {
  const uri = pictureReference(text.trim());
  const reference = referenceIn(uri);
  const taken: readonly InlineAudio[] = c.var.inlineAudio ?? [];
  const { bytes } = (reference === undefined ? decodeDataUri(uri) : taken[reference]) ?? {};
  if (bytes && bytes.byteLength > 0) return bytes;
  throw refusal('invalid-input', [{ pointer, detail: 'must be a picture in base64' }]);
}
