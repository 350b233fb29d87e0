/** Begins an edit at a result: below the result, in words, and on a tile of the gallery as an icon. */
import type { Image, Job } from '@lehr/client';
import { Icon } from '../../parts/icon.tsx';
import { toast } from '../../parts/toast.tsx';
import { texts } from '../../texts/index.ts';
import { faultOf } from '../../wire/fault.ts';
import { editOutput } from './edit.ts';

interface EditButtonProps {
  readonly job: Job;
  readonly image: Image;
  /** The title of a tile, which is read aloud in place of the words. */
  readonly tileTitle?: string;
}

export function EditButton({ job, image, tileTitle }: EditButtonProps) {
  const edit = (): Promise<void> => editOutput(job, image).catch((error) => toast(faultOf(error).message));
  if (tileTitle === undefined) {
    return (
      <button type="button" class="button" onClick={edit}>
        <Icon name="edit" />
        {texts.edit.action}
      </button>
    );
  }
  return (
    <button type="button" class="button-icon tile-edit" onClick={edit} title={texts.edit.action}>
      <Icon name="edit" />
      <span class="hidden">{texts.edit.actionOf(tileTitle)}</span>
    </button>
  );
}
