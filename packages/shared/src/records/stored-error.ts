/** The error of a failed job as its record keeps it: what a caller reads of it, and which fields of the input it names. */
import { z } from 'zod';
import { ERROR_CODES, type PlainError } from '../base/errors.ts';
import { type JobError, JobErrorSchema } from '../contracts/job.ts';

export const StoredErrorSchema = JobErrorSchema.extend({
  // A newer version may have written a code that this one does not know; the title and the detail still tell what happened.
  code: JobErrorSchema.shape.code.catch('internal'),
  /** Not on the wire as they stand: their pointers are into the native request, and a dialect uses other names. */
  problems: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
});
export type StoredError = z.output<typeof StoredErrorSchema>;

export function toStoredError({ code, message, problems }: PlainError): StoredError {
  const { title, retryable } = ERROR_CODES[code];
  return { code, title, detail: message, retryable, ...(problems && { problems: [...problems] }) };
}

export const toJobError = ({ problems: _, ...error }: StoredError): JobError => error;
