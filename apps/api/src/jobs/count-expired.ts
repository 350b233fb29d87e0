import type { Metrics } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import { metricLabels } from './metric-labels.ts';

/** Jobs that nobody took in time end in the queue, where no worker counts them. */
export function countExpired(metrics: Pick<Metrics<'api'>, 'requests'>): (job: JobRecord) => void {
  return (job) => metrics.requests.inc({ ...metricLabels(job), outcome: 'expired' });
}
