/** The web UI's route for finished pictures: what a picture says about itself. */
import { createRoute, z } from '@hono/zod-openapi';
import { MAX_MEDIA_REFERENCE, pngTexts } from '@lehr/shared';
import type { Context } from 'hono';
import { refusal } from '../../base/field-problems.ts';
import { decodeDataUri, type InlineAudio, referenceIn } from '../../http/bodies/inline-audio.ts';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import { requires } from '../../http/middleware/auth.ts';
import { answerJson } from '../../http/middleware/own-headers.ts';
import { BEARER_OR_BASIC } from '../../http/responses.ts';
import type { Api } from '../../parts.ts';
import { bodyErrors } from './errors.ts';
import { PARAMETERS, parseInfotext } from './infotext.ts';
import { nativeImage } from './picture-contract.ts';

const image = z
  .string()
  .max(MAX_MEDIA_REFERENCE)
  .meta({ description: 'In base64, bare or as a `data:` URI.' });
const shared = { method: 'post' as const, tags: ['a1111'], security: BEARER_OR_BASIC };

const pngInfoRoute = createRoute({
  ...shared,
  path: '/sdapi/v1/png-info',
  operationId: 'webUiPngInfo',
  summary: 'Read how a picture was made, from its file',
  middleware: requires('read'),
  request: {
    body: {
      required: true,
      content: {
        'application/json': { schema: z.looseObject({ image }).meta({ id: 'WebUiPngInfoRequest' }) },
      },
    },
  },
  responses: {
    200: {
      description: 'What the file says; empty when it is no PNG or says nothing.',
      content: {
        'application/json': {
          schema: z
            .object({
              info: z.string().meta({ description: 'The text `parameters`.' }),
              items: z.record(z.string(), z.string()).meta({ description: 'The other texts.' }),
              parameters: z.record(z.string(), z.string()).meta({ description: 'The fields of `info`.' }),
            })
            .meta({ id: 'WebUiPngInfo' }),
        },
      },
    },
    ...bodyErrors(),
  },
});

export function webUiPictureRoutes(app: Api): void {
  app.openapi(pngInfoRoute, (c) => {
    const texts = pngTexts(pictureBytes(c, c.req.valid('json').image, '/image'));
    const info = texts.get(PARAMETERS) ?? '';
    texts.delete(PARAMETERS);
    const answer = {
      info,
      items: Object.fromEntries(texts),
      parameters: info === '' ? {} : parseInfotext(info),
    };
    return answerJson(c, answer, 200, { 'cache-control': 'private, no-cache' });
  });
}

/** The bytes of a picture in the field `pointer`. Throws `invalid-input`. */
export function pictureBytes(c: Context<ApiEnv>, text: string, pointer: string): Uint8Array {
  const uri = nativeImage(text.trim());
  const reference = referenceIn(uri);
  const taken: readonly InlineAudio[] = c.var.inlineAudio ?? [];
  const { bytes } = (reference === undefined ? decodeDataUri(uri) : taken[reference]) ?? {};
  if (bytes && bytes.byteLength > 0) return bytes;
  throw refusal('invalid-input', [{ pointer, detail: 'must be a picture in base64' }]);
}
