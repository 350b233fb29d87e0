import type { Job } from '@lehr/client';
import type { Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { texts } from '../texts/index.ts';
import { titleOf } from './shelf.ts';

interface DeleteDialogProps {
  /** The jobs that it asks about; it is open while there are any. */
  readonly doomed: Signal<readonly Job[]>;
  readonly onDelete: (ids: readonly string[]) => Promise<void>;
}

/** Asks before jobs are deleted with their outputs. */
export function DeleteDialog({ doomed, onDelete }: DeleteDialogProps) {
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
    void onDelete(jobs.map(({ id }) => id));
    close();
  };
  const [first] = jobs;
  return (
    <dialog ref={dialog} class="dialog" onClose={close} aria-labelledby="delete-title">
      <h2 id="delete-title">{texts.gallery.deleteAsk(jobs.length)}</h2>
      <p class="clamp">{first && titleOf(first)}</p>
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
