/** Reads the JSON lines of a batch's file, never more than one of them in memory. */
import { LehrError, MAX_FILE_LINES } from '@lehr/shared';
import type { BatchError } from './batch-store.ts';
import type { Line } from './slices.ts';

const NEWLINE = 10;
const MAX_LINE_BYTES = 16_000_000;
const MAX_CUSTOM_ID = 512;
/** As many as are listed of a file with more. */
const MAX_ERRORS = 20;

/** Why a file is not run. */
export class BadLines extends Error {
  readonly errors: readonly BatchError[];

  constructor(errors: readonly BatchError[]) {
    super(errors[0]?.message);
    this.errors = errors;
  }
}

/** Yields the lines of a file. Throws BadLines when it has read all of it, or as soon as it has too many lines or errors. */
export async function* linesOfFile(
  body: AsyncIterable<Uint8Array>,
  endpoint: string,
  maxLines: number | null,
): AsyncGenerator<Line> {
  const most = Math.min(MAX_FILE_LINES, maxLines ?? MAX_FILE_LINES);
  const errors: BatchError[] = [];
  const known = new Set<string>();
  let number = 0;
  for await (const text of textLines(body)) {
    number += 1;
    // `trim` also removes the mark of byte order with which some editors begin a file.
    const trimmed = text.trim();
    if (trimmed === '') continue;
    const read = readLine(trimmed, endpoint, known);
    if (!('code' in read)) {
      if (known.size > most)
        throw new BadLines([
          fault('too_many_tasks', `The batch input file may have at most ${most} requests.`, null, number),
        ]);
      if (errors.length === 0) yield read;
      continue;
    }
    errors.push({ ...read, line: number });
    if (errors.length === MAX_ERRORS) break;
  }
  if (known.size === 0 && errors.length === 0)
    errors.push(
      fault('empty_file', 'The input file is empty. Please ensure that the batch has at least one request.'),
    );
  if (errors.length > 0) throw new BadLines(errors);
}

const fault = (
  code: string,
  message: string,
  param: string | null = null,
  line: number | null = null,
): BatchError => ({ code, message, param, line });

/** The line, or what is wrong with it, with the codes of OpenAI. */
function readLine(text: string, endpoint: string, known: Set<string>): Line | BatchError {
  const line = parsedLine(text);
  if (!line) return fault('invalid_json_line', 'This line is not parseable as valid JSON.');
  const { custom_id, method, url, body } = line;
  for (const name of ['custom_id', 'method', 'url', 'body'])
    if (line[name] === undefined)
      return fault('missing_required_parameter', `Missing required parameter: '${name}'.`, name);
  if (typeof custom_id !== 'string' || custom_id === '' || custom_id.length > MAX_CUSTOM_ID)
    return fault(
      'invalid_value',
      `custom_id must be a string of 1 to ${MAX_CUSTOM_ID} characters.`,
      'custom_id',
    );
  if (known.has(custom_id)) return fault('duplicate_custom_id', DUPLICATE, 'custom_id');
  if (method !== 'POST') return fault('invalid_method', 'The method of a request must be POST.', 'method');
  if (url !== endpoint)
    return fault(
      'invalid_url',
      `The URL provided for this request does not match the batch endpoint, ${endpoint}.`,
      'url',
    );
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return fault('invalid_value', 'body must be an object.', 'body');
  known.add(custom_id);
  return { custom_id, body };
}

const DUPLICATE =
  'The custom_id for this request is a duplicate of another request. The custom_id parameter must be unique for each request in a batch.';

/** Undefined for what is no object in JSON. */
function parsedLine(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

async function* textLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...rest, chunk.subarray(start, end)]).toString();
      rest = [];
      bytes = 0;
      start = end + 1;
    }
    rest.push(chunk.subarray(start));
    bytes += chunk.byteLength - start;
    if (bytes > MAX_LINE_BYTES)
      throw new LehrError('too-large', `A line has more than ${MAX_LINE_BYTES} bytes.`);
  }
  if (bytes > 0) yield Buffer.concat(rest).toString();
}
