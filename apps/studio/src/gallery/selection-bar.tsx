/** What can be done with the selected jobs. */
import type { Job } from '@lehr/client';
import { type Signal, useSignal } from '@preact/signals';
import { Icon } from '../parts/icon.tsx';
import { toast } from '../parts/toast.tsx';
import { texts } from '../texts/index.ts';
import { faultOf } from '../wire/fault.ts';
import { selected, selectFound, selectNone } from './selection.ts';
import { fault, jobs } from './shelf.ts';

export function SelectionBar({ doomed }: { readonly doomed: Signal<readonly Job[]> }) {
  /** How many jobs are in the zip already; undefined while none is made. */
  const done = useSignal<number | undefined>(undefined);
  const count = selected.value.length;
  if (count === 0) return null;
  const save = async (): Promise<void> => {
    done.value = 0;
    try {
      const { zipOf } = await import('./zip.ts');
      const { blob, missing } = await zipOf(selected.value, (at) => {
        done.value = at;
      });
      saveAs(blob, texts.gallery.zip.name);
      if (missing > 0) toast(texts.gallery.zip.missing(missing));
    } catch (error) {
      fault.value = faultOf(error);
    } finally {
      done.value = undefined;
    }
  };
  return (
    <section class="selection" aria-label={texts.gallery.selection}>
      <p role="status">
        {done.value === undefined
          ? texts.gallery.selected(count)
          : texts.gallery.zip.progress(done.value, count)}
      </p>
      <div class="actions">
        {count < jobs.value.length && (
          <button type="button" class="button button-small" onClick={selectFound}>
            {texts.gallery.selectAll(jobs.value.length)}
          </button>
        )}
        <button type="button" class="button button-small" onClick={selectNone}>
          {texts.gallery.selectNone}
        </button>
        <button
          type="button"
          class="button button-small"
          disabled={done.value !== undefined}
          onClick={() => {
            doomed.value = selected.value;
          }}
        >
          <Icon name="trash" />
          {texts.gallery.delete}
        </button>
        <button
          type="button"
          class="button button-small button-primary"
          disabled={done.value !== undefined}
          onClick={save}
        >
          <Icon name="download" />
          {texts.gallery.zip.action}
        </button>
      </div>
    </section>
  );
}

function saveAs(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 0);
}
