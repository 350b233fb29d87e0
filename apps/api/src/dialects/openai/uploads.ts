/** Multipart calls of OpenAI's clients. */
import { LehrError } from '@lehr/shared';
import type { Context } from 'hono';
import type { z } from 'zod';
import { inactive } from '../../http/fair-admission.ts';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import { bodyRefusal } from '../../http/middleware/validation.ts';
import type { Files } from '../../jobs/files/files.ts';
import type { Multipart } from '../../jobs/files/multipart.ts';

/** Reads the whole body, and names `part` in the refusal of one that is too large. */
export async function receiveUpload<T>(
  c: Context<ApiEnv>,
  files: Files,
  part: string,
  use: (body: Multipart) => Promise<T>,
): Promise<T> {
  try {
    return await inactive(c, files.receive(c.var.caller, c.req.raw, use));
  } catch (error) {
    if (!(error instanceof LehrError) || error.code !== 'too-large') throw error;
    const problems = [{ pointer: `/${part}`, detail: 'is too large' }];
    throw new LehrError('too-large', error.message, { problems, cause: error });
  }
}

const SCALAR = /^(?:true|false|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)$/i;

/** Parts are texts: one that its field does not take is read as a number or a boolean. */
const readPart = (field: z.ZodType, text: string): unknown =>
  SCALAR.test(text) && !field.safeParse(text).success ? JSON.parse(text.toLowerCase()) : text;

/** Ignores parts that are empty or unknown. Throws `invalid-input`. */
export function uploadFields<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  { fields }: Multipart,
): z.output<z.ZodObject<Shape>> {
  const given = fields
    .filter(([name, text]) => text !== '' && Object.hasOwn(schema.shape, name))
    .map(([name, text]) => [name, readPart(schema.shape[name] as unknown as z.ZodType, text)]);
  const parsed = schema.safeParse(Object.fromEntries(given));
  if (parsed.success) return parsed.data;
  throw bodyRefusal(parsed.error);
}
