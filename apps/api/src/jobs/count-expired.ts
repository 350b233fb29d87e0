import type { Metrics } from '@lehr/shared';
import type { JobOutline } from '@lehr/shared/records';
import { metricLabels } from './metric-labels.ts';

/** Counts jobs whose deadline passed in the queue; workers count all other ends. */
export function countExpired(metrics: Pick<Metrics<'api'>, 'requests'>): (job: JobOutline) => void {
  return (job) => metrics.requests.inc({ ...metricLabels(job), outcome: 'expired' });
}
