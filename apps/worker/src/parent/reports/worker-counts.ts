/** What this worker has counted since its start, for the picture of the traffic (GET /v1/traffic). */
import { addCounter, addHistogram, type Counts, type Metrics, modelSuffix } from '@lehr/shared';

type Used = Pick<Metrics<'worker'>, 'requests' | 'queueTime' | 'upload'>;

export async function workerCounts({ requests, queueTime, upload }: Used): Promise<Counts> {
  const counts: Counts = {};
  await addCounter(counts, requests, (labels) => `ended${modelSuffix(labels)}`);
  await addCounter(counts, requests, (labels) =>
    labels.outcome === 'failed' ? `failed${modelSuffix(labels)}` : undefined,
  );
  await addHistogram(counts, queueTime, 'claimed', modelSuffix);
  await addHistogram(counts, upload, 'stored');
  return counts;
}
