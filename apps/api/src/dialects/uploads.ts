/** Calls whose body is a form with files. */
import type { Context } from 'hono';
import type { z } from 'zod';
import { inactive } from '../http/fair-admission.ts';
import type { ApiEnv } from '../http/middleware/api-env.ts';
import { bodyRefusal } from '../http/middleware/validation.ts';
import type { Files } from '../jobs/files/files.ts';
import type { Multipart } from '../jobs/files/multipart.ts';

/** Reads the whole body. */
export const receiveUpload = <T>(
  c: Context<ApiEnv>,
  files: Files,
  use: (body: Multipart) => Promise<T>,
): Promise<T> => inactive(c, files.receive(c.var.caller, c.req.raw, use));

/** A part that is named `expand[left]` is the field `left` of `expand`. */
const PART = /^(\w+)(?:\[(\w+)\])?$/;
const SCALAR = /^(?:true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[-+]?\d+)?)$/i;

/** Parts are texts: one that its field does not take is read as a number, a boolean, or a list in JSON. */
function readPart(field: z.ZodType | undefined, text: string): unknown {
  if (field?.safeParse(text).success) return text;
  if (SCALAR.test(text)) return JSON.parse(text.toLowerCase());
  return (text.startsWith('[') && parsedJson(text)) || text;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Ignores parts that are empty or unknown. Throws `invalid-input`. */
export function uploadFields<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  { fields }: Multipart,
): z.output<z.ZodObject<Shape>> {
  const given: Record<string, unknown> = {};
  for (const [part, text] of fields) {
    const [, name, inner] = PART.exec(part) ?? [];
    if (text === '' || name === undefined || !Object.hasOwn(schema.shape, name)) continue;
    given[name] =
      inner === undefined
        ? readPart(schema.shape[name] as unknown as z.ZodType, text)
        : { ...Object(given[name]), [inner]: readPart(undefined, text) };
  }
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw bodyRefusal(parsed.error);
}
