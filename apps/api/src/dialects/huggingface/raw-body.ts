/** Bodies that are the input itself. */
import { LehrError } from '@lehr/shared';
import type { Context } from 'hono';
import type { InlineAudio } from '../../http/bodies/inline-audio.ts';
import { inactive } from '../../http/in-turns.ts';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import { MAX_JSON_BYTES, readKnownLength, statedLength } from '../../http/middleware/read-body.ts';
import type { ApiParts } from '../../parts.ts';

/**
 * The bytes of the body and its media type; undefined for a JSON body. `readBody` has bounded its length. Throws `overloaded`,
 * `too-slow`, and `invalid-request` for a body that ends early.
 */
export async function rawBody(c: Context<ApiEnv>, { bodyReads }: ApiParts): Promise<InlineAudio | undefined> {
  const contentType = c.req.header('content-type') ?? '';
  if (/^application\/json\b/i.test(contentType)) return undefined;
  const length = statedLength(c);
  const read = async (): Promise<Uint8Array> => {
    const incoming = c.env?.incoming;
    if (incoming && length !== undefined) return readKnownLength(incoming, length);
    return new Uint8Array(await c.req.arrayBuffer());
  };
  const bytes = await inactive(c, bodyReads.run(c.var.caller.tenant, length ?? MAX_JSON_BYTES, read));
  if (bytes.byteLength === 0) throw new LehrError('invalid-request', 'The body is empty.');
  return { contentType, bytes };
}
