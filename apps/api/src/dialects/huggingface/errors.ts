/** Errors as the clients of the Hugging Face inference API read them: `{"error": message, "error_type": code}`. */
import type { LehrError } from '@lehr/shared';
import { z } from 'zod';
import { JobEndedError } from '../../jobs/requests/hold.ts';

export const HuggingFaceErrorSchema = z
  .object({
    error: z.string(),
    error_type: z.string().meta({ description: 'The code of the error.' }),
    job_id: z.string().optional().meta({ description: 'The job of the call, if one was made.' }),
    estimated_time: z.number().optional().meta({
      description: 'Seconds after which the model may be ready, when the call did not wait for it.',
    }),
  })
  .meta({ id: 'HuggingFaceError' });

/** No worker serves the model, and the caller does not want to wait for one. */
export class ModelLoadingError extends Error {}

/** How long a worker takes to start and to open its models, roughly; callers may ask again after it. */
export const LOADING_S = 20;

/**
 * `@huggingface/inference` repeats a call that is answered with 503 at once and without an end. So a call that may be repeated later
 * is answered with 429, as a full queue by text-embeddings-inference, and one whose job failed with 500; only for a model that is
 * loading the clients expect 503.
 */
export function huggingFaceRefusal(error: LehrError): {
  readonly status: number;
  readonly body: z.output<typeof HuggingFaceErrorSchema>;
} {
  const isLoading = error.cause instanceof ModelLoadingError;
  return {
    status: statusOf(error, isLoading),
    body: {
      error: error.message,
      error_type: error.code,
      ...(error instanceof JobEndedError && { job_id: error.job }),
      ...(isLoading && { estimated_time: LOADING_S }),
    },
  };
}

function statusOf({ code, status }: LehrError, isLoading: boolean): number {
  if (status !== 503 || isLoading) return status;
  return code === 'overloaded' || code === 'unavailable' ? 429 : 500;
}
