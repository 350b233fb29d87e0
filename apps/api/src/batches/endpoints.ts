/** What the lines of a batch may ask for: by the URL of the batch, how a line becomes a job, and how the job becomes its answer. */
import { type BatchEndpointPath, type JobRequest, JobRequestSchema, LehrError } from '@lehr/shared';
import type { Caller } from '../access/auth/authenticator.ts';
import { bodyRefusal } from '../http/middleware/validation.ts';
import type { Presenter } from '../jobs/present.ts';
import type { Names } from '../jobs/requests/field-names.ts';
import type { SucceededRecord } from '../jobs/requests/hold.ts';

export interface BatchEndpoint {
  /** The job of a line. Throws a LehrError for a body that is not valid: the line fails, and the others go on. */
  requestOf(body: unknown, caller: Caller): JobRequest | Promise<JobRequest>;
  /** The body of the answer, as JSON. `body` is that of the line. */
  answerOf(record: SucceededRecord, body: unknown): Promise<string>;
  /** Of the fields of a job that is refused after `requestOf`. */
  readonly names?: Names;
  /** The answer in which clients of this URL expect an error. */
  errorOf?(error: LehrError): { readonly status: number; readonly body: unknown };
}

/** A URL that is absent is not offered. */
export type BatchEndpoints = Readonly<Partial<Record<BatchEndpointPath, BatchEndpoint>>>;

/** The native one: a line is a JobRequest, and its answer the job. */
export const jobEndpoint = (presenter: Presenter): BatchEndpoint => ({
  requestOf: (body) => {
    const { success, data, error } = JobRequestSchema.safeParse(body);
    if (!success) throw bodyRefusal(error);
    if (data.type === 'workflow' || data.type === 'speech-to-image')
      throw new LehrError('invalid-input', 'A line of a batch is one job, and no workflow.');
    return data;
  },
  answerOf: async (record) => JSON.stringify(await presenter.job(record)),
});
