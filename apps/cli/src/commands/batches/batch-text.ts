import type { Batch } from '@lehr/client';
import { tableOf } from '../../table.ts';

/** One line for each. */
export const batchesTable = (batches: readonly Batch[]): string =>
  tableOf(
    ['BATCH', 'STATUS', 'JOBS', 'DONE', 'FAILED', 'CREATED'],
    batches.map(({ id, status, request_counts: { total, completed, failed }, created_at }) => [
      id,
      status,
      `${total}`,
      `${completed}`,
      `${failed}`,
      new Date(created_at * 1000).toISOString(),
    ]),
  );

const ENDS: readonly Batch['status'][] = ['completed', 'failed', 'expired', 'cancelled'];

export const hasEnded = ({ status }: Batch): boolean => ENDS.includes(status);

/** What to say of a batch that failed as a whole. */
export const faultsOf = ({ errors }: Batch): string =>
  (errors?.data ?? [])
    .map(({ line, message }) => `${line === null ? '' : `line ${line}: `}${message}\n`)
    .join('');
