import type { JobRecord } from '@lehr/shared/records';

/** What a record gets only as it goes on. */
const OF_RUNNING = ['started_at', 'worker', 'lease', 'progress', 'cancel_requested'];
const OF_ENDED = ['finished_at', 'expires_at', 'output', 'metrics', 'error'];

/**
 * The record as it stood at an event that is told late: a job may be over by the time its start is rendered, and a receiver must
 * not meet the end twice. Ends need no such care, and progress is always told as it is now.
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

/** When the event happened, ms: what `recordAtEvent` says of the last change. */
export function happenedAt(record: JobRecord): number {
  if ('finished_at' in record) return record.finished_at;
  return record.state === 'running' ? record.started_at : record.created_at;
}

const without = (record: JobRecord, names: readonly string[]): object =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
