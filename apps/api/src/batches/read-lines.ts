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
    if (text.trim() === '') continue;
    const read = readLine(text, endpoint, known);
    if (typeof read !== 'string') {
      if (known.size > most)
        throw new BadLines([fault(number, 'too_many_lines', `A batch may have at most ${most} lines.`)]);
      if (errors.length === 0) yield read;
      continue;
    }
    errors.push(fault(number, 'invalid_line', read));
    if (errors.length === MAX_ERRORS) break;
  }
  if (known.size === 0 && errors.length === 0)
    errors.push({ code: 'empty_file', message: 'The file has no line.', param: null, line: null });
  if (errors.length > 0) throw new BadLines(errors);
}

const fault = (line: number, code: string, message: string): BatchError => ({
  code,
  message,
  param: null,
  line,
});

/** The line, or what is wrong with it. */
function readLine(text: string, endpoint: string, known: Set<string>): Line | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'The line is not JSON.';
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return 'The line is no JSON object.';
  const { custom_id, method, url, body } = value as Record<string, unknown>;
  if (typeof custom_id !== 'string' || custom_id === '' || custom_id.length > MAX_CUSTOM_ID)
    return `custom_id must be a text of 1 to ${MAX_CUSTOM_ID} characters.`;
  if (known.has(custom_id)) return `custom_id ${JSON.stringify(custom_id)} is that of an earlier line.`;
  if (method !== 'POST') return 'method must be POST.';
  if (url !== endpoint) return `url must be ${endpoint}, the endpoint of the batch.`;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return 'body must be an object.';
  known.add(custom_id);
  return { custom_id, body };
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
