/** Makes a job again. The API retries every job but a workflow, which is posted once more. */
import { type Job, type JobRequest, LehrError } from '@lehr/client';
import { texts } from '../texts/index.ts';
import { lehr } from '../wire/lehr.ts';
import { requestAgain } from './snippets.ts';

const WORKFLOWS: readonly Job['type'][] = ['workflow', 'speech-to-image'];

/** Returns the new job. */
export async function retry({ id, type }: Pick<Job, 'id' | 'type'>): Promise<Job> {
  if (!WORKFLOWS.includes(type)) return lehr.retry(id);
  const { body, missing } = requestAgain(await lehr.get(id));
  if (missing.length > 0) throw new LehrError('conflict', texts.job.notKept(missing.join(', ')));
  return lehr.submit(body as JobRequest);
}
