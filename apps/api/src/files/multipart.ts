/** Multipart bodies, read as they come: files are counted while they arrive, and nothing is kept of one that is too large. */
import { Readable } from 'node:stream';
import type { ReadableStream as NodeWebStream } from 'node:stream/web';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { LehrError } from '@lehr/shared';

export interface ReceivedFile {
  /** Of its part. */
  readonly field: string;
  /** As the sender named it; says nothing about what it is. */
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: Buffer;
}

export interface Multipart {
  /** Every part without a file, in the order they came. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly files: readonly ReceivedFile[];
}

export interface MultipartLimits {
  /** Of all files together. */
  readonly maxFileBytes: number;
  readonly maxFiles: number;
}

const MAX_FIELDS = 100;
const MAX_FIELD_BYTES = 64 * 1024;
const MAX_NAME_BYTES = 200;
/** The parser may hold back a few bytes that could be a boundary; a sender that stops in the middle is cut off by the server. */
const HIGH_WATER_MARK = 64 * 1024;

/**
 * Rejects with `unsupported-media` for another content type, `too-large` as soon as there is too much, and `invalid-request`
 * for a body that breaks off or is no multipart.
 */
export async function readMultipart(request: Request, limits: MultipartLimits): Promise<Multipart> {
  const contentType = request.headers.get('content-type') ?? '';
  if (!/^multipart\/form-data\s*;/i.test(contentType) || !request.body) {
    throw new LehrError('unsupported-media', 'The body must be multipart/form-data.');
  }
  const parser = parserFor(contentType);
  const source = Readable.fromWeb(request.body as NodeWebStream, { highWaterMark: HIGH_WATER_MARK });
  try {
    return await receive(parser, source, limits);
  } finally {
    source.destroy();
  }
}

function parserFor(contentType: string): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: { fields: MAX_FIELDS, fieldSize: MAX_FIELD_BYTES, fieldNameSize: MAX_NAME_BYTES },
      // Node's default for names in headers; browsers and curl send UTF-8.
      defCharset: 'utf8',
    });
  } catch (error) {
    throw broken(error);
  }
}

function receive(parser: BusboyInstance, source: Readable, limits: MultipartLimits): Promise<Multipart> {
  const { maxFileBytes, maxFiles } = limits;
  const fields: [string, string][] = [];
  const files: ReceivedFile[] = [];
  let bytes = 0;
  let opened = 0;
  return new Promise((resolve, reject) => {
    const refuse = (error: LehrError): void => {
      reject(error);
      source.unpipe(parser);
      source.destroy();
    };
    parser.on('file', (field, stream, filename, _encoding, contentType) => {
      opened += 1;
      if (opened > maxFiles)
        refuse(new LehrError('invalid-request', `At most ${maxFiles} files may be sent.`));
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength;
        if (bytes > maxFileBytes) refuse(tooLarge(maxFileBytes));
        else chunks.push(chunk);
      });
      stream.on('error', (error) => refuse(broken(error)));
      stream.on('end', () => {
        files.push({ field, filename: filename ?? '', contentType, bytes: Buffer.concat(chunks) });
      });
    });
    parser.on('field', (name, value, nameTruncated, valueTruncated) => {
      if (nameTruncated || valueTruncated) refuse(tooLarge(MAX_FIELD_BYTES));
      else fields.push([name, value]);
    });
    parser.on('fieldsLimit', () =>
      refuse(new LehrError('invalid-request', `At most ${MAX_FIELDS} fields may be sent.`)),
    );
    parser.on('error', (error) => refuse(broken(error)));
    parser.on('finish', () => resolve({ fields, files }));
    source.on('error', (error) => refuse(broken(error)));
    source.pipe(parser);
  });
}

const tooLarge = (bytes: number): LehrError =>
  new LehrError('too-large', `What was sent may have at most ${bytes} bytes.`);

const broken = (cause: unknown): LehrError =>
  new LehrError('invalid-request', 'The body is no complete multipart/form-data.', { cause });
