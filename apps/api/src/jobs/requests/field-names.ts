/** Refusals of native requests, with the field names of the dialect that the request came in. */
import { type JobRequest, JobRequestSchema, LehrError } from '@lehr/shared';
import type { z } from 'zod';
import { refusal } from '../../base/field-problems.ts';
import { bodyRefusal } from '../../http/middleware/validation.ts';

/** Maps a pointer into the native request to a pointer into the dialect's request. */
export type Names = (pointer: string) => string;

/** For dialects whose fields are at the top of the body with their native names, except those in `renamed`. */
export const atTheTop =
  (renamed: Readonly<Record<string, string>> = {}): Names =>
  (pointer) =>
    renamed[pointer] ?? pointer.replace(/^\/input(?=\/|$)/, '');

/** The native request with every default filled in. Throws `invalid-input` with the dialect's names. */
export function nativeRequest(fields: z.input<typeof JobRequestSchema>, names: Names): JobRequest {
  const parsed = JobRequestSchema.safeParse(fields);
  if (parsed.success) return parsed.data;
  throw inNames(bodyRefusal(parsed.error), names);
}

/** An `invalid-input` error with the dialect's names, each field once; any other error unchanged. */
export function inNames(error: unknown, names: Names): unknown {
  if (!(error instanceof LehrError) || error.code !== 'invalid-input') return error;
  const problems = new Map(error.problems.map(({ pointer, detail }) => [names(pointer), detail]));
  return refusal(
    error.code,
    [...problems].map(([pointer, detail]) => ({ pointer, detail })),
  );
}
