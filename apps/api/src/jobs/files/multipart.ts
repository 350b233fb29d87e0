/**
 * Reads multipart/form-data bodies while they arrive. Everything is bounded: each part, all files together, and the raw bytes,
 * so that preambles, headers and separators count as well.
 *
 * The parser pulls: a body that ends, breaks off or is refused ends the loop, and no part can keep the request open.
 */
import { type FieldProblem, LehrError } from '@lehr/shared';
import {
  MaxFileSizeExceededError,
  MaxHeaderSizeExceededError,
  MaxPartsExceededError,
  MaxTotalSizeExceededError,
  MultipartParseError,
  MultipartParser,
  type MultipartPart,
} from '@remix-run/multipart-parser';
import type { UploadPace } from '../../http/bodies/body-reads.ts';
import { StreamedPart } from './streamed-part.ts';

export interface ReceivedFile {
  /** The name of its part. */
  readonly field: string;
  /** The name that the caller gave it; the content may be anything. */
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: Buffer;
}

export interface Multipart {
  /** Every part without a file, in the order of the body. */
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
/** As in most file systems. The name of an upload is stored in Redis. */
const MAX_FILE_NAME_BYTES = 255;
const MAX_PART_HEADER_BYTES = 8 * 1024;
/** Raw bytes beside the files: fields, part headers and separators. */
const MAX_OTHER_BYTES = 1024 * 1024;
const LINE_END = '\r\n';
const HEADER_END = '\r\n\r\n';
const NAME = /;\s*name="([^"]{1,200})"/i;
const BOUNDARY = /^multipart\/form-data\s*;.*?boundary=(?:"([^"]{1,70})"|([^\s;]{1,70}))/i;

/** Takes the content of a file while it arrives. The body then has this file without its content. */
export interface StreamedFile {
  readonly field: string;
  write(bytes: Uint8Array): Promise<void>;
}

/**
 * Rejects with `unsupported-media` for another content type, `too-large` as soon as a limit is passed, with the part that passes it, `too-slow`
 * when the bytes arrive too slowly, and `invalid-request` for a body that is incomplete, malformed or has a part without a name.
 */
export async function readMultipart(
  request: Request,
  limits: MultipartLimits,
  pace: UploadPace,
  streamed?: StreamedFile,
): Promise<Multipart> {
  const [, quoted, plain] = BOUNDARY.exec(request.headers.get('content-type') ?? '') ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined || !request.body) {
    throw new LehrError('unsupported-media', 'The body must be multipart/form-data with a boundary.');
  }
  const reader = request.body.getReader();
  try {
    const body = new MultipartBody(boundary, limits);
    const part = streamed && new StreamedPart(boundary, streamed.field);
    while (!body.isComplete) {
      const { done, value } = await pace.inTime(reader.read());
      if (done) throw new LehrError('invalid-request', 'The body ends before its last boundary.');
      pace.received(value.byteLength);
      const { rest, content } = part?.write(value) ?? { rest: value, content: undefined };
      if (content) await streamed?.write(content);
      body.write(rest);
    }
    return body;
  } catch (error) {
    throw error instanceof LehrError ? error : malformed(error);
  } finally {
    // What is left of the body is not read. A caller that has hung up makes this reject, and nothing depends on it.
    reader.cancel().catch(() => {});
  }
}

/** The parts received so far. Throws a LehrError as soon as a limit is passed. */
class MultipartBody implements Multipart {
  readonly fields: [string, string][] = [];
  readonly files: ReceivedFile[] = [];
  isComplete = false;
  readonly #parser: MultipartParser;
  readonly #limits: MultipartLimits;
  readonly #begun: BegunParts;
  #rawBytes = 0;
  #fileBytes = 0;

  constructor(boundary: string, limits: MultipartLimits) {
    this.#limits = limits;
    this.#begun = new BegunParts(boundary);
    this.#parser = new MultipartParser(boundary, {
      maxHeaderSize: MAX_PART_HEADER_BYTES,
      maxFileSize: limits.maxFileBytes,
      maxParts: MAX_FIELDS + limits.maxFiles,
      maxTotalSize: limits.maxFileBytes + MAX_OTHER_BYTES,
    });
  }

  write(chunk: Uint8Array): void {
    const { maxFileBytes } = this.#limits;
    this.#begun.write(chunk);
    this.#rawBytes += chunk.byteLength;
    if (this.#rawBytes > maxFileBytes + MAX_OTHER_BYTES)
      throw tooLarge('The body', maxFileBytes, this.#begunPart);
    try {
      for (const part of this.#parser.write(chunk)) this.#add(part);
    } catch (error) {
      throw LIMIT_ERRORS.some((limit) => error instanceof limit)
        ? overLimit(error as Error, this.#begunPart)
        : error;
    }
    this.isComplete = hasEnded(this.#parser);
  }

  /** The name of the part that has begun and not ended. */
  get #begunPart(): string | undefined {
    return this.#begun.nameOf(this.fields.length + this.files.length);
  }

  #add(part: MultipartPart): void {
    const { name } = part;
    if (!name) throw new LehrError('invalid-request', 'Every part of the body must have a name.');
    if (Buffer.byteLength(name) > MAX_NAME_BYTES) throw tooLarge("A part's name", MAX_NAME_BYTES);
    if (part.isFile) this.#addFile(name, part);
    else this.#addField(name, part);
  }

  #addFile(field: string, part: MultipartPart): void {
    const { maxFiles, maxFileBytes } = this.#limits;
    if (this.files.length === maxFiles) {
      throw new LehrError('invalid-request', `A body may hold at most ${maxFiles} files.`);
    }
    this.#fileBytes += part.size;
    if (this.#fileBytes > maxFileBytes) throw tooLarge('The files', maxFileBytes, field);
    const { filename = '', mediaType = '', content } = part;
    if (Buffer.byteLength(filename) > MAX_FILE_NAME_BYTES)
      throw tooLarge("A file's name", MAX_FILE_NAME_BYTES);
    this.files.push({ field, filename, contentType: mediaType, bytes: Buffer.concat(content) });
  }

  #addField(name: string, part: MultipartPart): void {
    if (this.fields.length === MAX_FIELDS) {
      throw new LehrError('invalid-request', `A body may hold at most ${MAX_FIELDS} fields.`);
    }
    if (part.size > MAX_FIELD_BYTES) throw tooLarge(`The field ${name}`, MAX_FIELD_BYTES, name);
    this.fields.push([name, part.text]);
  }
}

/** The only way to ask the parser: it throws while the last boundary is missing. */
function hasEnded(parser: MultipartParser): boolean {
  try {
    parser.finish();
    return true;
  } catch (error) {
    if (error instanceof MultipartParseError) return false;
    throw error;
  }
}

/** `part` is the one that passed the limit, where it is known. */
const tooLarge = (what: string, bytes: number, part?: string): LehrError =>
  new LehrError('too-large', `${what} may have at most ${bytes} bytes.`, { problems: problemsOf(part) });

const overLimit = (cause: Error, part: string | undefined): LehrError =>
  new LehrError('too-large', `The body is too large: ${cause.message}.`, {
    problems: problemsOf(part),
    cause,
  });

/** A part of a list is named as the list. */
const problemsOf = (part: string | undefined): FieldProblem[] =>
  part === undefined ? [] : [{ pointer: `/${part.replace(/\[\]$/, '')}`, detail: 'is too large' }];

const LIMIT_ERRORS = [
  MaxFileSizeExceededError,
  MaxHeaderSizeExceededError,
  MaxPartsExceededError,
  MaxTotalSizeExceededError,
];

const malformed = (cause: unknown): LehrError =>
  new LehrError('invalid-request', 'The body is not complete multipart/form-data.', { cause });

/** The names of the parts that have begun. The parser names a part only once it is complete. */
class BegunParts {
  readonly #separator: string;
  readonly #names: (string | undefined)[] = [];
  /** What was not searched to its end: a header that is not complete, or what may be the first half of a separator. */
  #rest = Buffer.from(LINE_END);

  constructor(boundary: string) {
    this.#separator = `${LINE_END}--${boundary}${LINE_END}`;
  }

  nameOf(index: number): string | undefined {
    return this.#names[index];
  }

  write(chunk: Uint8Array): void {
    const seen = Buffer.concat([this.#rest, chunk]);
    let begin = seen.indexOf(this.#separator);
    let rest = Math.max(0, seen.byteLength - this.#separator.length);
    while (begin !== -1) {
      const end = seen.indexOf(HEADER_END, begin);
      if (end === -1) rest = begin;
      else this.#names.push(NAME.exec(seen.toString('utf8', begin, end))?.[1]);
      begin = end === -1 ? -1 : seen.indexOf(this.#separator, end + HEADER_END.length);
    }
    this.#rest = Buffer.from(seen.subarray(rest));
  }
}
