/** Answers a call with the result of its text job. */
import { LehrError } from '@lehr/shared';
import type { Context } from 'hono';
import { inactive } from '../http/fair-admission.ts';
import type { ApiEnv } from '../http/middleware/api-env.ts';
import type { SucceededRecord } from '../jobs/requests/hold.ts';
import type { MadeJob } from '../jobs/requests/make-job.ts';
import { onClosedAnswer } from '../jobs/requests/unanswered-requests.ts';
import { readLargeResult, textResultOf } from '../jobs/text-result.ts';
import type { ApiParts } from '../parts.ts';
import { shapedAnswer, type TextShape } from './text-shape.ts';

type Parts = Pick<ApiParts, 'store' | 'largeAnswers'>;
type Written = string | Uint8Array<ArrayBuffer>;

/**
 * The JSON of the answer. Rejects with `gone` when a large result has been deleted. When the result could be had later, the call counts
 * as unanswered, so that a repeat gets this job and does not make and pay a second one.
 */
export async function textAnswer(
  c: Context<ApiEnv>,
  parts: Parts,
  made: Pick<MadeJob, 'markUnanswered'>,
  record: SucceededRecord,
  shape: TextShape,
): Promise<Written> {
  try {
    return await written(c, parts, record, shape);
  } catch (error) {
    // A repeat would find a result that is gone or damaged (`internal`) as it is now. A caller that hung up is marked by makeJob.
    const mayRepeat = error instanceof LehrError && error.status === 503 && !c.req.raw.signal.aborted;
    if (mayRepeat) await made.markUnanswered();
    throw error;
  }
}

async function written(
  c: Context<ApiEnv>,
  { store, largeAnswers }: Parts,
  record: SucceededRecord,
  shape: TextShape,
): Promise<Written> {
  const result = await textResultOf(store, record);
  if ('small' in result) return JSON.stringify(shapedAnswer(result.small, shape));
  const { large } = result;
  const answer = largeAnswers.write(record.tenant, {
    read: () => readLargeResult(store, large),
    signal: c.req.raw.signal,
    onClosed: (release) => onClosedAnswer(c, release),
    tokens: large.tokens,
    shape,
  });
  return inactive(c, answer);
}
