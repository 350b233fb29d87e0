/** What is wrong, in the words of the wire it was asked on. */
import { type JobRequest, JobRequestSchema, LehrError } from '@lehr/shared';
import type { z } from 'zod';
import { refusal } from '../field-problems.ts';
import { refuseInvalid } from '../middleware/validation.ts';

/** From a pointer into a native request to one into the request that was made. */
export type Names = (pointer: string) => string;

/** Fields that are called the same and stand at the top; those in `renamed` are called otherwise. */
export const atTheTop =
  (renamed: Readonly<Record<string, string>> = {}): Names =>
  (pointer) =>
    renamed[pointer] ?? pointer.replace(/^\/input(?=\/)/, '');

/** The native request; every default is filled in. Throws `invalid-input`, in the names of the wire. */
export function nativeRequest(fields: z.input<typeof JobRequestSchema>, names: Names): JobRequest {
  const parsed = JobRequestSchema.safeParse(fields);
  if (parsed.success) return parsed.data;
  throw inNames(invalid(parsed.error), names);
}

/** What a schema refuses of a body, as `invalid-input`. */
export function invalid(error: z.ZodError): unknown {
  try {
    refuseInvalid({ target: 'json', success: false, error });
  } catch (refused) {
    return refused;
  }
  return error;
}

/** The same refusal with its fields renamed, each named once; anything else as it is. */
export function inNames(error: unknown, names: Names): unknown {
  if (!(error instanceof LehrError) || error.code !== 'invalid-input') return error;
  const problems = new Map(error.problems.map(({ pointer, detail }) => [names(pointer), detail]));
  return refusal(
    error.code,
    [...problems].map(([pointer, detail]) => ({ pointer, detail })),
  );
}
