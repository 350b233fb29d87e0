/** Why a request that was held for its job has nothing to show. */
import { type JobId, LehrError } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';

/** `late`: not over within the hold; `stopping`: this server goes down, and the job goes on. */
export type JobEnd = 'failed' | 'canceled' | 'expired' | 'late' | 'stopping';

export class JobEndedError extends LehrError {
  readonly end: JobEnd;
  readonly job: JobId;

  constructor(end: JobEnd, record: JobRecord) {
    const [code, message] = codeOf(end, record);
    const problems = record.state === 'failed' ? record.error.problems : undefined;
    super(code, message, { problems });
    this.end = end;
    this.job = record.id;
  }
}

function codeOf(end: JobEnd, record: JobRecord): [LehrError['code'], string] {
  switch (end) {
    case 'failed':
      return record.state === 'failed'
        ? [record.error.code, `The job failed: ${record.error.detail}`]
        : ['internal', 'The job failed.'];
    case 'canceled':
      return ['conflict', 'The job was called off meanwhile.'];
    case 'expired':
      return ['deadline-exceeded', 'The job’s deadline passed before it was done.'];
    case 'late':
      return ['hold-expired', 'The job is not done yet; it goes on. Ask again, or ask for the job.'];
    case 'stopping':
      return ['unavailable', 'This server is stopping; ask again.'];
  }
}
