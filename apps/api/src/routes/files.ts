/**
 * Uploaded files that jobs read. A file that is sent as `content` is answered as Replicate's clients expect it, and one that is sent as `file`,
 * with a purpose, as those of OpenAI do (openai-files.ts).
 */
import { createRoute, z } from '@hono/zod-openapi';
import { LehrError, type TenantId } from '@lehr/shared';
import { refusal } from '../base/field-problems.ts';
import { checkJsonShape, MAX_DEPTH, MAX_VALUES } from '../http/bodies/json-shape.ts';
import { inactive } from '../http/fair-admission.ts';
import { guardRate, requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import { SENT_PURPOSES, type StoredFile } from '../jobs/files/files.ts';
import type { Multipart } from '../jobs/files/multipart.ts';
import type { Api, ApiParts } from '../parts.ts';
import {
  asOpenAiFile,
  batchOutput,
  counted,
  createOpenAiFile,
  DeletedFileSchema,
  fileListRoute,
  OpenAiFileSchema,
} from './openai-files.ts';

const FileSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    content_type: z.string(),
    size: z.int().meta({ description: 'Bytes.' }),
    etag: z.string(),
    checksums: z.object({ sha256: z.string() }),
    metadata: z.record(z.string(), z.unknown()),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime(),
    urls: z.object({ get: z.url().meta({ description: 'The link for the input of a job.' }) }),
  })
  .meta({ id: 'File' });
type File = z.output<typeof FileSchema>;

const IdParams = z.object({ id: z.string().meta({ example: 'file_01jd3v9s6w0000000000000000' }) });

const getRoute = createRoute({
  method: 'get',
  path: '/v1/files/{id}',
  operationId: 'getFile',
  tags: ['files'],
  summary: 'Get an uploaded file',
  security: BEARER,
  middleware: requires('read'),
  request: { params: IdParams },
  responses: {
    200: {
      description: 'The file, in the form in which it was sent.',
      content: { 'application/json': { schema: z.union([FileSchema, OpenAiFileSchema]) } },
    },
    ...problemsWithKey('not-found'),
  },
});

const contentRoute = createRoute({
  method: 'get',
  path: '/v1/files/{id}/content',
  operationId: 'getFileContent',
  tags: ['files'],
  summary: 'Download a file',
  description:
    'An upload as it was sent, or the output of a batch: JSON lines in the order of its input, with links that are signed now.',
  security: BEARER,
  middleware: requires('read'),
  request: { params: IdParams },
  responses: {
    200: {
      description: 'The bytes.',
      content: { 'application/octet-stream': { schema: z.string().meta({ format: 'binary' }) } },
    },
    ...problemsWithKey('not-found', 'gone', 'storage-failed'),
  },
});

const deleteRoute = createRoute({
  method: 'delete',
  path: '/v1/files/{id}',
  operationId: 'deleteFile',
  tags: ['files'],
  summary: 'Delete an uploaded file',
  description: 'A job that has not read the file yet will fail.',
  security: BEARER,
  middleware: requires('submit'),
  request: { params: IdParams },
  responses: {
    200: {
      description: 'A file with a purpose is deleted.',
      content: { 'application/json': { schema: DeletedFileSchema } },
    },
    204: { description: 'Another file is deleted.' },
    ...problemsWithKey('not-found', 'too-large', 'storage-failed'),
  },
});

/** Only the documentation: the validator of `app.openapi` would read the whole body before its size is checked. */
const uploadRoute = createRoute({
  method: 'post',
  path: '/v1/files',
  operationId: 'createFile',
  tags: ['files'],
  summary: 'Upload a file',
  security: BEARER,
  request: {
    body: {
      required: true,
      content: {
        'multipart/form-data': {
          schema: z.object({
            content: z.string().optional().meta({ format: 'binary', description: 'The file.' }),
            metadata: z
              .string()
              .optional()
              .meta({ description: 'With `content`: a JSON object that is returned unchanged.' }),
            file: z.string().optional().meta({
              format: 'binary',
              description:
                'In place of `content`, the file as the clients of OpenAI send it. With the purpose `batch` it may have 200 MiB.',
            }),
            purpose: z.enum(SENT_PURPOSES).optional().meta({ description: 'With `file`.' }),
          }),
        },
      },
    },
  },
  responses: {
    200: {
      description: 'The `file` is stored.',
      content: { 'application/json': { schema: OpenAiFileSchema } },
    },
    201: {
      description: 'The `content` is stored.',
      content: { 'application/json': { schema: FileSchema } },
    },
    ...problemsWithKey(
      'invalid-request',
      'too-slow',
      'too-large',
      'unsupported-media',
      'invalid-input',
      'rate-limited',
      'overloaded',
      'storage-failed',
    ),
  },
});

export function fileRoutes(app: Api, parts: ApiParts): void {
  const { files, presenter, quotas } = parts;
  const present = (file: StoredFile): File => ({
    id: file.id,
    name: file.name,
    content_type: file.content_type,
    size: file.bytes,
    etag: file.sha256,
    checksums: { sha256: file.sha256 },
    metadata: file.metadata,
    created_at: new Date(file.created_at).toISOString(),
    expires_at: new Date(file.expires_at).toISOString(),
    urls: { get: presenter.url(`/v1/files/${file.id}`) },
  });

  app.openAPIRegistry.registerPath(uploadRoute);
  app.post('/v1/files', requires('submit'), guardRate(quotas), async (c) => {
    const { caller } = c.var;
    const receiving = files.receiveLarge(caller, c.req.raw, 'file', async (body, large) => {
      const file = body.files.find(({ field }) => field === 'content');
      if (!file) return createOpenAiFile(files, caller, body, large);
      if (large.bytes > 0)
        throw refusal('invalid-input', [{ pointer: '/file', detail: 'must not be sent beside content' }]);
      const { filename: name, contentType, bytes } = file;
      return files.create(caller, { name, contentType, bytes, metadata: metadataOf(body) });
    });
    const file = await inactive(c, receiving);
    return c.json(asOpenAiFile(file) ?? present(file), file.purpose ? 200 : 201);
  });

  fileListRoute(app, parts);

  app.openapi(getRoute, async (c) => {
    const { tenant } = c.var.caller;
    const file = await files.find(tenant, c.req.valid('param').id);
    return c.json(asOpenAiFile(await counted(parts, tenant, file)) ?? present(file), 200);
  });

  app.openapi(contentRoute, async (c) => {
    const file = await files.find(c.var.caller.tenant, c.req.valid('param').id);
    return c.body(await contentOf(parts, c.var.caller.tenant, file), 200, {
      'content-type': file.content_type,
      'cache-control': 'private, no-cache',
    }) as never;
  });

  app.openapi(deleteRoute, async (c) => {
    const { tenant } = c.var.caller;
    const file = await files.find(tenant, c.req.valid('param').id);
    await files.delete(tenant, file);
    if (!file.purpose) return c.body(null, 204);
    return c.json({ id: file.id, object: 'file' as const, deleted: true as const }, 200);
  });
}

/** Metadata is stored in Redis as long as the file is kept. */
const MAX_METADATA_BYTES = 64 * 1024;

/** Replicate's client sends it as a part of type JSON, with or without a file name. */
function metadataOf({ fields, files }: Multipart): Record<string, unknown> {
  const file = files.find(({ field }) => field === 'metadata');
  if (file && file.bytes.byteLength > MAX_METADATA_BYTES) {
    throw new LehrError('too-large', `metadata may have at most ${MAX_METADATA_BYTES} bytes.`, {
      problems: [{ pointer: '/metadata', detail: `may have at most ${MAX_METADATA_BYTES} bytes` }],
    });
  }
  const text = file?.bytes.toString() ?? fields.find(([name]) => name === 'metadata')?.[1];
  if (text === undefined) return {};
  try {
    checkJsonShape(text);
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch (error) {
    const detail = `must be a JSON object of at most ${MAX_VALUES} values and ${MAX_DEPTH} levels`;
    throw new LehrError('invalid-input', `metadata ${detail}.`, {
      cause: error,
      problems: [{ pointer: '/metadata', detail }],
    });
  }
}

async function contentOf(
  parts: ApiParts,
  tenant: TenantId,
  file: StoredFile,
): Promise<ReadableStream<Uint8Array>> {
  return file.batch
    ? bytesOf(await batchOutput(parts, tenant, file, file.batch))
    : parts.files.open(tenant, file);
}

/** Reads on only as fast as its reader, and no further when that hangs up. */
function bytesOf(texts: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await texts.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      async cancel() {
        await texts.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
