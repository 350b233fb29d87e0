/** A button at a result: below it in words, and on a tile of the gallery as an icon. */
import type { Image, Job } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { Icon, type IconName } from '../../parts/icon.tsx';
import { toast } from '../../parts/toast.tsx';
import { faultOf } from '../../wire/fault.ts';

/** A result that something is made of. */
export interface ActionOnPicture {
  readonly job: Job;
  readonly image: Image;
  /** Of several pictures, which one. */
  readonly number?: number | undefined;
  /** The title of a tile, which is read aloud in place of the words. */
  readonly tileTitle?: string;
}

interface PictureActionProps extends ActionOnPicture {
  readonly icon: IconName;
  readonly text: string;
  readonly textOf: (title: string) => string;
  readonly act: (job: Job, image: Image) => Promise<void>;
}

export function PictureAction({
  job,
  image,
  number,
  tileTitle,
  icon,
  text,
  textOf,
  act,
}: PictureActionProps) {
  const isBusy = useSignal(false);
  const start = async (): Promise<void> => {
    if (isBusy.value) return;
    isBusy.value = true;
    await act(job, image).catch((error) => toast(faultOf(error).message));
    isBusy.value = false;
  };
  if (tileTitle === undefined) {
    return (
      <button type="button" class="button" onClick={start} disabled={isBusy.value}>
        <Icon name={icon} />
        {number === undefined ? text : `${text} ${number}`}
      </button>
    );
  }
  return (
    <button type="button" class="button-icon" onClick={start} disabled={isBusy.value} title={text}>
      <Icon name={icon} />
      <span class="hidden">{textOf(tileTitle)}</span>
    </button>
  );
}
