import type { JobRecord } from '@lehr/shared/records';

/** Fields that a record gets when it is started, and when it ends. */
const OF_RUNNING = ['started_at', 'worker', 'lease', 'progress', 'cancel_requested'];
const OF_ENDED = ['finished_at', 'expires_at', 'output', 'metrics', 'error'];

/**
 * The record as it was at the event. A webhook may be rendered late: when the job has ended meanwhile, the webhook of its start
 * must not show the end. The record of an end never changes, and progress is always sent as it is now.
 */
export function recordAtEvent(record: JobRecord, event: string): JobRecord {
  switch (event) {
    case 'job.queued':
      return { ...without(record, [...OF_RUNNING, ...OF_ENDED]), state: 'queued', attempt: 0 } as JobRecord;
    case 'job.started': {
      const startedAt = 'started_at' in record ? record.started_at : undefined;
      const base = without(record, [...OF_ENDED, 'progress']);
      return { ...base, state: 'running', started_at: startedAt ?? record.created_at } as JobRecord;
    }
    default:
      return record;
  }
}

/** When the record got its state, ms: the time of the event for a record from `recordAtEvent`. */
export function happenedAt(record: JobRecord): number {
  if ('finished_at' in record) return record.finished_at;
  return record.state === 'running' ? record.started_at : record.created_at;
}

const without = (record: JobRecord, names: readonly string[]): object =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
