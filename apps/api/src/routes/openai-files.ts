/** Files in the form of OpenAI's clients: those that were sent with a purpose, and the outputs of batches. */
import { createRoute, z } from '@hono/zod-openapi';
import type { LehrError } from '@lehr/shared';
import type { Caller } from '../access/auth/authenticator.ts';
import { refusal } from '../base/field-problems.ts';
import { requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import { type Files, SENT_PURPOSES, type StoredFile } from '../jobs/files/files.ts';
import type { Multipart } from '../jobs/files/multipart.ts';
import type { SpooledFile } from '../jobs/files/spooled-file.ts';
import type { Api, JobParts } from '../parts.ts';
import { queryNumber } from './params.ts';

const PURPOSES = [...SENT_PURPOSES, 'batch_output'] as const;
const MAX_PAGE = 1_000;
const DEFAULT_PAGE = 100;

export const OpenAiFileSchema = z
  .object({
    id: z.string(),
    object: z.literal('file'),
    bytes: z.int().meta({ description: 'Of the output of a batch 0: it is written while it is read.' }),
    created_at: z.int().meta({ description: 'Unix seconds.' }),
    expires_at: z.int().meta({ description: 'Unix seconds.' }),
    filename: z.string(),
    purpose: z.enum(PURPOSES),
    status: z.literal('processed'),
    status_details: z.null(),
  })
  .meta({ id: 'OpenAiFile' });

export const DeletedFileSchema = z
  .object({ id: z.string(), object: z.literal('file'), deleted: z.literal(true) })
  .meta({ id: 'OpenAiDeletedFile' });

/** Undefined for a file that was sent in another form. */
export function asOpenAiFile(file: StoredFile): z.output<typeof OpenAiFileSchema> | undefined {
  const { id, bytes, name, purpose } = file;
  if (purpose === undefined) return undefined;
  return {
    id,
    object: 'file',
    bytes,
    created_at: Math.floor(file.created_at / 1000),
    expires_at: Math.floor(file.expires_at / 1000),
    filename: name,
    purpose,
    status: 'processed',
    status_details: null,
  };
}

/** Stores the part `file`. Throws `invalid-input`. */
export async function createOpenAiFile(
  files: Files,
  caller: Caller,
  body: Multipart,
  file: SpooledFile,
): Promise<StoredFile> {
  const wrong = (pointer: string, detail: string): LehrError =>
    refusal('invalid-input', [{ pointer, detail }]);
  const [part, ...more] = body.files.filter(({ field }) => field === file.field);
  if (!part) throw wrong('/content', 'is required, and must be a file');
  if (more.length > 0) throw wrong('/file', 'must be one file');
  if (file.bytes === 0) throw wrong('/file', 'is empty');
  const given = body.fields.find(([name]) => name === 'purpose')?.[1];
  if (given === undefined) throw wrong('/purpose', 'is required');
  const purpose = SENT_PURPOSES.find((each) => each === given);
  if (!purpose) throw wrong('/purpose', `must be one of ${SENT_PURPOSES.join(', ')}`);
  const { filename: name, contentType } = part;
  return files.createLarge(caller, file, { name, contentType, purpose });
}

const listRoute = createRoute({
  method: 'get',
  path: '/v1/files',
  operationId: 'listFiles',
  tags: ['files'],
  summary: 'List your files that have a purpose',
  description: 'In the form of OpenAI. Files that were sent as `content` are not listed.',
  security: BEARER,
  middleware: requires('read'),
  request: {
    query: z.strictObject({
      purpose: z.enum(PURPOSES).optional(),
      order: z.enum(['asc', 'desc']).default('desc').meta({ description: 'By the time of creation.' }),
      limit: queryNumber(z.coerce.number().int().min(1).max(MAX_PAGE).default(DEFAULT_PAGE)),
      after: z.string().max(200).optional().meta({ description: '`last_id` of the previous page.' }),
    }),
  },
  responses: {
    200: {
      description: 'A page.',
      content: {
        'application/json': {
          schema: z
            .object({
              object: z.literal('list'),
              data: z.array(OpenAiFileSchema),
              first_id: z.string().nullable(),
              last_id: z.string().nullable(),
              has_more: z.boolean(),
            })
            .meta({ id: 'OpenAiFileList' }),
        },
      },
    },
    ...problemsWithKey('invalid-request', 'not-found'),
  },
});

export function fileListRoute(app: Api, { files }: Pick<JobParts, 'files'>): void {
  app.openapi(listRoute, async (c) => {
    const { purpose, order, limit, after } = c.req.valid('query');
    const page = await files.page(c.var.caller.tenant, { purpose, order, limit, after });
    const data = page.files.flatMap((file) => asOpenAiFile(file) ?? []);
    const ends = { first_id: data.at(0)?.id ?? null, last_id: data.at(-1)?.id ?? null };
    return c.json({ object: 'list' as const, data, ...ends, has_more: page.hasMore }, 200);
  });
}
