import type { Job } from '@lehr/client';
import type { Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { texts } from '../texts/index.ts';
import { remove, titleOf } from './shelf.ts';

/** Asks before a job is deleted with its outputs. */
export function DeleteDialog({ doomed }: { readonly doomed: Signal<Job | undefined> }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const job = doomed.value;
  useEffect(() => {
    if (job) dialog.current?.showModal();
    else dialog.current?.close();
  }, [job]);
  const close = (): void => {
    doomed.value = undefined;
  };
  const confirm = (): void => {
    if (job) void remove(job.id);
    close();
  };
  return (
    <dialog ref={dialog} class="dialog" onClose={close} aria-labelledby="delete-title">
      <h2 id="delete-title">{texts.gallery.deleteAsk}</h2>
      <p>{job && titleOf(job)}</p>
      <div class="actions">
        <button type="button" class="button" onClick={close}>
          {texts.gallery.deleteNo}
        </button>
        <button type="button" class="button button-danger" onClick={confirm}>
          {texts.gallery.deleteYes}
        </button>
      </div>
    </dialog>
  );
}
