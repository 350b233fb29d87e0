/** Files in the form of OpenAI's clients: those that were sent with a purpose, and the outputs of batches. */
import { createRoute, z } from '@hono/zod-openapi';
import { LehrError, type TenantId } from '@lehr/shared';
import type { Caller } from '../access/auth/authenticator.ts';
import { refusal } from '../base/field-problems.ts';
import { answersOf } from '../batches/answers.ts';
import { requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import { type Files, SENT_PURPOSES, type StoredFile } from '../jobs/files/files.ts';
import type { Multipart } from '../jobs/files/multipart.ts';
import type { SpooledFile } from '../jobs/files/spooled-file.ts';
import type { Api, ApiParts } from '../parts.ts';
import { queryNumber } from './params.ts';

const PURPOSES = [...SENT_PURPOSES, 'batch_output'] as const;
const MAX_PAGE = 1_000;
const DEFAULT_PAGE = 100;
/** A request counts outputs of batches for so long: one of 100,000 lines takes as long as its download. */
const COUNTING_MS = 1_000;

export const OpenAiFileSchema = z
  .object({
    id: z.string(),
    object: z.literal('file'),
    bytes: z.int().meta({
      description:
        'The output of a batch is counted when it is first read or asked for; 0 until it is read where that takes longer than a second.',
    }),
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

type OutputParts = Pick<ApiParts, 'files' | 'batches' | 'store' | 'batchReads' | 'batchEndpoints' | 'clock'>;

/** The texts of the output of a batch. When all of them have been read, the size of the file is known and kept. */
export async function batchOutput(
  parts: OutputParts,
  tenant: TenantId,
  file: StoredFile,
  { id, output }: NonNullable<StoredFile['batch']>,
): Promise<AsyncGenerator<string>> {
  const batch = await parts.batches.find(tenant, id);
  return (async function* () {
    let bytes = 0;
    for await (const text of answersOf(parts, batch, output)) {
      bytes += Buffer.byteLength(text);
      yield text;
    }
    if (bytes !== file.bytes) await parts.files.noteBytes(tenant, file, bytes);
  })();
}

/** The file with its size. An output of a batch whose size is not known is read for it; if that fails or takes too long, the size stays 0. */
export async function counted(
  parts: OutputParts,
  tenant: TenantId,
  file: StoredFile,
  endsAt = parts.clock.monotonic() + COUNTING_MS,
): Promise<StoredFile> {
  if (!file.batch || file.bytes > 0 || parts.clock.monotonic() > endsAt) return file;
  let bytes = 0;
  try {
    for await (const text of await batchOutput(parts, tenant, file, file.batch)) {
      if (parts.clock.monotonic() > endsAt) return file;
      bytes += Buffer.byteLength(text);
    }
  } catch (error) {
    if (error instanceof LehrError) return file;
    throw error;
  }
  return { ...file, bytes };
}

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

export function fileListRoute(app: Api, parts: OutputParts): void {
  const { files, clock } = parts;
  app.openapi(listRoute, async (c) => {
    const { purpose, order, limit, after } = c.req.valid('query');
    const { tenant } = c.var.caller;
    const page = await files.page(tenant, { purpose, order, limit, after });
    const endsAt = clock.monotonic() + COUNTING_MS;
    const data: z.output<typeof OpenAiFileSchema>[] = [];
    for (const file of page.files) {
      const shown = asOpenAiFile(await counted(parts, tenant, file, endsAt));
      if (shown) data.push(shown);
    }
    const ends = { first_id: data.at(0)?.id ?? null, last_id: data.at(-1)?.id ?? null };
    return c.json({ object: 'list' as const, data, ...ends, has_more: page.hasMore }, 200);
  });
}
