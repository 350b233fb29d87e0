import type { Job } from '@lehr/client';
import type { Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { texts } from '../texts/index.ts';
import { remove, titleOf } from './shelf.ts';

/** Asks before jobs are deleted with their outputs. */
export function DeleteDialog({ doomed }: { readonly doomed: Signal<readonly Job[]> }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const jobs = doomed.value;
  useEffect(() => {
    if (jobs.length > 0) dialog.current?.showModal();
    else dialog.current?.close();
  }, [jobs]);
  const close = (): void => {
    if (doomed.value.length > 0) doomed.value = [];
  };
  const confirm = (): void => {
    void remove(jobs.map(({ id }) => id));
    close();
  };
  const [first] = jobs;
  return (
    <dialog ref={dialog} class="dialog" onClose={close} aria-labelledby="delete-title">
      <h2 id="delete-title">{texts.gallery.deleteAsk(jobs.length)}</h2>
      <p>{first && titleOf(first)}</p>
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
