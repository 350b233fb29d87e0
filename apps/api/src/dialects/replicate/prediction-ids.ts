/** A prediction is a job: its id is the job's without the prefix. */
import type { JobId } from '@lehr/shared';

const PREFIX = 'job_';

export const predictionIdOf = (job: JobId): string => job.slice(PREFIX.length);
/** Of any text; whether there is such a job, findJob says. */
export const jobIdOf = (prediction: string): string => `${PREFIX}${prediction}`;
