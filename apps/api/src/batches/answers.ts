/**
 * The output and the errors of a batch, as JSON lines in the order of its input. Parts hold records; the answers are made of them when they
 * are read, so that their links are signed then. One part is in memory at a time.
 */
import { ERROR_CODES, type ErrorCode, type JobId, LehrError, toLehrError } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import { type JobRecord, parseStoredRecord } from '@lehr/shared/records';
import { JobEndedError, succeeded } from '../jobs/requests/hold.ts';
import type { BatchReads } from './batch-reads.ts';
import type { BatchRecord, LineFault } from './batch-store.ts';
import type { BatchEndpoints } from './endpoints.ts';
import type { BatchOutput } from './present-batch.ts';
import type { LineResult, NumberedLine } from './slices.ts';

export interface AnswerParts {
  readonly store: ObjectStore;
  readonly batchReads: BatchReads;
  readonly batchEndpoints: BatchEndpoints;
}

/** An answer may have many megabytes. */
const ANSWERS_AT_ONCE = 4;

export async function* answersOf(
  parts: AnswerParts,
  batch: BatchRecord,
  output: BatchOutput,
): AsyncGenerator<string> {
  for (let slice = 0; slice < batch.slices; slice += 1) {
    const results = await parts.batchReads.part(batch, slice);
    const lines = await parts.batchReads.slice(batch, slice);
    const wanted = results
      .map((result, i) => ({ result, line: lines[i] }))
      .filter(({ result }) => (result.record?.state === 'succeeded') === (output === 'output'));
    for (let i = 0; i < wanted.length; i += ANSWERS_AT_ONCE) {
      const some = wanted.slice(i, i + ANSWERS_AT_ONCE);
      yield (await Promise.all(some.map(({ result, line }) => answerOf(parts, batch, result, line)))).join(
        '',
      );
    }
  }
}

/** A line of the output or of the errors. */
async function answerOf(
  { batchEndpoints }: AnswerParts,
  batch: BatchRecord,
  result: LineResult,
  line: NumberedLine,
): Promise<string> {
  const { custom_id } = line;
  const endpoint = batchEndpoints[batch.endpoint];
  if (!endpoint) throw new LehrError('not-found', `Nothing serves ${batch.endpoint} in a batch.`);
  const job = result.record?.id;
  const id = `batch_req_${(job ?? `${batch.id}_${result.line}`).replace(/^(?:job|batch)_/, '')}`;
  const request_id = job ?? id;
  try {
    const ended = endOf(result, batch);
    if (!('state' in ended)) return jsonLine({ id, custom_id, response: null, error: ended });
    const body = await endpoint.answerOf(succeeded(ended), line.body);
    const head = JSON.stringify({ id, custom_id, response: { status_code: 200, request_id } });
    // The body is JSON already, and may be large.
    return `${head.slice(0, -2)},"body":${body}},"error":null}\n`;
  } catch (cause) {
    const error = toLehrError(cause);
    const isOfLine = result.error !== undefined || cause instanceof JobEndedError;
    // What could be read later is not an answer: the reader gets a broken download, and repeats it.
    if (!isOfLine && error.retryable) throw error;
    const { code, message } = error;
    const { status, body } = endpoint.errorOf?.(error) ?? ownError(error);
    const response = { status_code: status, request_id, body };
    return jsonLine({ id, custom_id, response, error: endpoint.errorOf ? null : { code, message } });
  }
}

const jsonLine = (value: object): string => `${JSON.stringify(value)}\n`;

const ownError = ({ code, message, status }: LehrError) => ({
  status,
  body: { error: { code, message, type: 'invalid_request_error', param: null } },
});

/** The record of the job, or why there was none or it was ended. Throws the error of a line that was refused. */
function endOf({ error, record: stored }: LineResult, { reason }: BatchRecord): JobRecord | LineFault {
  if (error) {
    const { code, message, problems } = error;
    if (code in ERROR_CODES) throw new LehrError(code as ErrorCode, message, { problems });
    return { code, message };
  }
  const record = stored && parseStoredRecord(stored.id as JobId, stored);
  if (!record) throw new LehrError('internal', `The job ${stored?.id} cannot be read by this version.`);
  const { state } = record;
  if (state !== 'canceled' && state !== 'expired') return record;
  return {
    code: reason === undefined ? state : `batch_${reason}`,
    message: `The job ended as ${state}.`,
  };
}
