/** Makes a job again and opens the new one. The API retries every job but a workflow, which is posted once more. */
import { type Job, type JobRequest, LehrError } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { Icon } from '../parts/icon.tsx';
import { toast } from '../parts/toast.tsx';
import { go } from '../shell/router.ts';
import { texts } from '../texts/index.ts';
import { lehr } from '../wire/lehr.ts';
import { requestAgain } from './snippets.ts';

interface RetryButtonProps {
  readonly job: Pick<Job, 'id' | 'type'>;
  readonly class: string;
  /** Called when the job cannot be made again. */
  readonly onFault: (error: unknown) => void;
}

export function RetryButton({ job, class: name, onFault }: RetryButtonProps) {
  const isSending = useSignal(false);
  const onClick = async (): Promise<void> => {
    isSending.value = true;
    try {
      const { id } = await retry(job);
      toast(texts.job.retried);
      go({ name: 'job', id });
    } catch (error) {
      onFault(error);
      isSending.value = false;
    }
  };
  return (
    <button type="button" class={name} disabled={isSending.value} onClick={onClick}>
      <Icon name="again" />
      {texts.job.retry}
      <span class="hidden"> {job.id}</span>
    </button>
  );
}

const WORKFLOWS: readonly Job['type'][] = ['workflow', 'speech-to-image'];

async function retry({ id, type }: Pick<Job, 'id' | 'type'>): Promise<Job> {
  if (!WORKFLOWS.includes(type)) return lehr.retry(id);
  const { body, missing } = requestAgain(await lehr.get(id));
  if (missing.length > 0) throw new LehrError('conflict', texts.job.notKept(missing.join(', ')));
  return lehr.submit(body as JobRequest);
}
