/**
 * The output and the errors of a batch, as JSON lines in the order of its input. Parts hold records; the answers are made of them when they
 * are read, so that their links are signed then. One part is in memory at a time.
 */
import { ERROR_CODES, type ErrorCode, type JobId, LehrError, toLehrError } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import { type JobRecord, parseStoredRecord } from '@lehr/shared/records';
import type { BatchRecord } from './batch-store.ts';
import type { BatchEndpoints } from './endpoints.ts';
import type { BatchOutput } from './finish.ts';
import { type LineResult, type NumberedLine, readPart, readSlice } from './slices.ts';

export interface AnswerParts {
  readonly store: ObjectStore;
  readonly batchEndpoints: BatchEndpoints;
}

const ANSWERS_AT_ONCE = 16;

export async function* answersOf(
  parts: AnswerParts,
  batch: BatchRecord,
  output: BatchOutput,
): AsyncGenerator<string> {
  for (let slice = 0; slice < batch.slices; slice += 1) {
    const results = await readPart(parts.store, batch, slice);
    const lines = await readSlice(parts.store, batch, slice);
    const wanted = results
      .map((result, i) => ({ result, line: lines[i] }))
      .filter(({ result }) => (result.record?.state === 'succeeded') === (output === 'output'));
    for (let i = 0; i < wanted.length; i += ANSWERS_AT_ONCE) {
      const some = wanted.slice(i, i + ANSWERS_AT_ONCE);
      const texts = await Promise.all(
        some.map(
          async ({ result, line }) => `${JSON.stringify(await answerOf(parts, batch, result, line))}\n`,
        ),
      );
      yield texts.join('');
    }
  }
}

async function answerOf(parts: AnswerParts, batch: BatchRecord, result: LineResult, line: NumberedLine) {
  const { custom_id } = line;
  const record = result.record && parseStoredRecord(result.record.id as JobId, result.record);
  const id = `batch_req_${(record?.id ?? `${batch.id}_${result.line}`).replace(/^(?:job|batch)_/, '')}`;
  try {
    const body = await bodyOf(parts, batch, result, record, line.body);
    return { id, custom_id, response: { status_code: 200, request_id: record?.id ?? id, body }, error: null };
  } catch (error) {
    const { code, message } = error instanceof LineError ? error : toLehrError(error);
    const status = ERROR_CODES[code as ErrorCode]?.status;
    const body = { error: { code, message, type: 'invalid_request_error', param: null } };
    const response =
      status === undefined ? null : { status_code: status, request_id: record?.id ?? id, body };
    return { id, custom_id, response, error: { code, message } };
  }
}

/** A code of a line may be none of a job: the batch ended before it. */
class LineError extends Error {
  readonly code: string;

  constructor({ code, message }: { readonly code: string; readonly message: string }) {
    super(message);
    this.code = code;
  }
}

async function bodyOf(
  parts: AnswerParts,
  batch: BatchRecord,
  { error, record: stored }: LineResult,
  record: JobRecord | undefined,
  body: unknown,
): Promise<unknown> {
  if (error) throw new LineError(error);
  if (!record) throw new LehrError('internal', `The job ${stored?.id} cannot be read by this version.`);
  if (record.state === 'failed')
    throw new LineError({ code: record.error.code, message: record.error.detail });
  if (record.state === 'canceled' || record.state === 'expired')
    throw new LineError({
      code: batch.reason === undefined ? record.state : `batch_${batch.reason}`,
      message: `The job ended as ${record.state}.`,
    });
  const endpoint = parts.batchEndpoints[batch.endpoint];
  if (!endpoint) throw new LehrError('not-found', `Nothing serves ${batch.endpoint} in a batch.`);
  return endpoint.answerOf(record, body);
}
