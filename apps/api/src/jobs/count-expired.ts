import { type Metrics, parseGroupQueueName } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';

/** Jobs that nobody took in time end in the queue, where no worker counts them. Of a job made of jobs the model is left out. */
export function countExpired(metrics: Pick<Metrics<'api'>, 'requests'>): (job: JobRecord) => void {
  return ({ queue }) => {
    const { name: model = '', version = '' } = parseGroupQueueName(queue)?.model ?? {};
    metrics.requests.inc({ model, version, outcome: 'expired' });
  };
}
