/** A prediction's id is its job's id without the prefix. */
import type { JobId } from '@lehr/shared';

const PREFIX = 'job_';

export const predictionIdOf = (job: JobId): string => job.slice(PREFIX.length);
/** Does not check the id; findJob does. */
export const jobIdOf = (prediction: string): string => `${PREFIX}${prediction}`;
