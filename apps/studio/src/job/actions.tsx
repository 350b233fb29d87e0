/** What can be done with a job: make it again, change it in Make, delete it. */
import { isOver, type Job } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { DeleteDialog } from '../gallery/delete-dialog.tsx';
import type { FollowedJob } from '../jobs/follow.ts';
import { takeOverControl } from '../make/control/control.ts';
import { takeOver } from '../make/form.ts';
import { Icon } from '../parts/icon.tsx';
import { go } from '../shell/router.ts';
import { texts } from '../texts/index.ts';
import { faultOf } from '../wire/fault.ts';
import { lehr } from '../wire/lehr.ts';
import { RetryButton } from './retry-button.tsx';

export function Actions({ followed }: { readonly followed: FollowedJob }) {
  const job = followed.job.value;
  const problem = useSignal('');
  const doomed = useSignal<readonly Job[]>([]);
  const onFault = (error: unknown): void => {
    problem.value = faultOf(error).message;
  };
  const openInMake = async (): Promise<void> => {
    await takeOver(job);
    takeOverControl(job.input.control);
    go({ name: 'make' });
  };
  const remove = async (): Promise<void> => {
    // A job that has not ended is canceled instead, and stays.
    const kept = await lehr.delete(job.id);
    if (kept) followed.job.value = kept;
    else go({ name: 'gallery' });
  };
  return (
    <>
      <div class="actions">
        {isOver(job) && <RetryButton job={job} class="button" onFault={onFault} />}
        {isMadeInMake(job) && (
          <button type="button" class="button" onClick={() => openInMake().catch(onFault)}>
            <Icon name="make" />
            {texts.job.openInMake}
          </button>
        )}
        <button
          type="button"
          class="button"
          onClick={() => {
            doomed.value = [job];
          }}
        >
          <Icon name="trash" />
          {texts.gallery.delete}
        </button>
      </div>
      <p class="fault" role="alert">
        {problem.value}
      </p>
      <DeleteDialog doomed={doomed} onDelete={() => remove().catch(onFault)} />
    </>
  );
}

/** The files that another job began at are not read back; "Edit this" begins at its result. */
const isMadeInMake = ({ type, input }: Job): boolean => type === 'text-to-image' && input.image == null;
