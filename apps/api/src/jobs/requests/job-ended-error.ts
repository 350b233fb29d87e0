/** Why a request that was held for its job has no result. */
import { type JobId, LehrError } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';

/** `late`: the hold ended before the job; `stopping`: the server stops. In both cases the job continues. */
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
      return ['conflict', 'The job was canceled.'];
    case 'expired':
      return ['deadline-exceeded', 'The deadline of the job passed before it was finished.'];
    case 'late':
      return [
        'hold-expired',
        'The job is not finished yet. Repeat the request within a minute to wait for the same job, or get the job: a job that no ' +
          'caller asks for is canceled if it still waits.',
      ];
    case 'stopping':
      return ['unavailable', 'This server is stopping. Retry the request.'];
  }
}
