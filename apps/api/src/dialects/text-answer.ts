/** Answers a call with the result of its text job. */
import type { Context } from 'hono';
import type { ApiParts } from '../api.ts';
import type { SucceededRecord } from '../calls/hold.ts';
import { readLargeResult, textResultOf } from '../jobs/text-result.ts';
import type { ApiEnv } from '../middleware/api-env.ts';
import { inactive } from '../middleware/turns.ts';
import { shapedAnswer, type TextShape } from './text-shape.ts';

/** The JSON of the answer. Rejects with `gone` when a large result has been deleted. */
export async function textAnswer(
  c: Context<ApiEnv>,
  { store, largeAnswers }: Pick<ApiParts, 'store' | 'largeAnswers'>,
  record: SucceededRecord,
  shape: TextShape,
): Promise<string | Uint8Array<ArrayBuffer>> {
  const result = await textResultOf(store, record);
  if ('small' in result) return JSON.stringify(shapedAnswer(result.small, shape));
  const { large } = result;
  const written = largeAnswers.write(record.tenant, {
    read: () => readLargeResult(store, large),
    tokens: large.tokens,
    shape,
  });
  return inactive(c, written);
}
