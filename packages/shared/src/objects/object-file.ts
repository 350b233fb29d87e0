/**
 * One object as one file, so that a single rename makes body and metadata visible together, even in a crash:
 *
 *     lehr-object-1 {"key":"...","bytes":1234,"contentType":"image/png","sha256":"..."}\n
 *     <the body>
 *
 * `tail -n +2 <file>` prints the body, without Lehr.
 */
import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { asObjectKey } from './checks.ts';
import type { ObjectInfo } from './store.ts';

const MAGIC = 'lehr-object-1 ';
/** Key and content type are bounded (512 and 255 characters), so a header always fits. */
const MAX_HEADER_BYTES = 4096;

const HeaderSchema = z.strictObject({
  key: z.string().transform((value, context) => {
    const key = asObjectKey(value);
    if (key) return key;
    context.addIssue({ code: 'custom', message: 'not an object key' });
    return z.NEVER;
  }),
  bytes: z.int().nonnegative(),
  contentType: z.string(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

export function encodeHeader({ key, bytes, contentType, sha256 }: ObjectInfo): Buffer {
  return Buffer.from(`${MAGIC}${JSON.stringify({ key, bytes, contentType, sha256 })}\n`);
}

export interface ObjectFile {
  readonly info: ObjectInfo;
  /** The byte where the body begins. */
  readonly bodyOffset: number;
}

/** Throws for a file that is not a complete object. */
export async function readObjectFile(handle: FileHandle): Promise<ObjectFile> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_HEADER_BYTES), 0, MAX_HEADER_BYTES, 0);
  const end = buffer.subarray(0, bytesRead).indexOf('\n');
  const line = buffer.toString('utf8', 0, Math.max(end, 0));
  const info = parseHeader(line);
  const { size } = await handle.stat();
  const bodyOffset = end + 1;
  if (size !== bodyOffset + info.bytes) {
    throw new Error(`its body has ${size - bodyOffset} bytes and not ${info.bytes}.`);
  }
  return { info, bodyOffset };
}

function parseHeader(line: string): ObjectInfo {
  try {
    if (line.startsWith(MAGIC)) return HeaderSchema.parse(JSON.parse(line.slice(MAGIC.length)));
  } catch (cause) {
    throw new Error('its header is damaged.', { cause });
  }
  throw new Error('its file does not begin like an object.');
}
