/** One job in the gallery. */
import type { Job } from '@lehr/client';
import { EditButton } from '../make/picture/edit-button.tsx';
import { UpscaleButton } from '../make/picture/upscale-button.tsx';
import { Icon, type IconName } from '../parts/icon.tsx';
import { Link } from '../parts/link.tsx';
import { Picture } from '../parts/picture.tsx';
import { Status } from '../parts/status.tsx';
import { texts } from '../texts/index.ts';
import { isSelected, toggle } from './selection.ts';
import { refresh, titleOf } from './shelf.ts';
import { textResults } from './text-results.ts';

interface TileProps {
  readonly job: Job;
  /** Its number in the gallery, from 1, and of how many; -1 while that is not known. */
  readonly place: number;
  readonly of: number;
  readonly onDelete: () => void;
}

export function Tile({ job, place, of, onDelete }: TileProps) {
  const title = titleOf(job);
  const images = job.output?.images ?? [];
  return (
    <li
      class="tile"
      data-status={job.status}
      data-selected={isSelected(job.id)}
      aria-posinset={place}
      aria-setsize={of}
    >
      <label class="tile-select">
        <input
          type="checkbox"
          checked={isSelected(job.id)}
          onClick={(event) => toggle(job.id, event.shiftKey)}
        />
        <span class="hidden">{texts.gallery.select(title)}</span>
      </label>
      {/* Of the first picture; the page of the job has the others. */}
      {images.length > 0 && (
        <div class="tile-actions">
          <UpscaleButton job={job} image={images[0]} tileTitle={title} />
          <EditButton job={job} image={images[0]} tileTitle={title} />
        </div>
      )}
      <Link to={{ name: 'job', id: job.id }} class="tile-link">
        <div class="tile-face">
          <Face job={job} title={title} />
          {images.length > 1 && <span class="tile-more">{texts.gallery.more(images.length - 1)}</span>}
        </div>
        <p class="tile-title clamp">{title}</p>
      </Link>
      <div class="tile-foot">
        <time dateTime={job.created_at}>{shownTime(job.created_at)}</time>
        {job.status !== 'succeeded' && <Status status={job.status} />}
        <button type="button" class="button-icon" onClick={onDelete} title={texts.gallery.delete}>
          <Icon name="trash" />
          <span class="hidden">
            {texts.gallery.delete}: {title}
          </span>
        </button>
      </div>
    </li>
  );
}

function Face({ job, title }: { readonly job: Job; readonly title: string }) {
  const [image] = job.output?.images ?? [];
  if (image)
    return <Picture image={image} alt={texts.make.pictureOf(title)} lazy onStale={() => refresh(job.id)} />;
  const words = job.output?.text?.trim() || textResults(job)[0];
  if (words) return <blockquote class="tile-words">{words}</blockquote>;
  if (job.error) {
    return (
      <p class="tile-fault">
        <strong>{job.error.title}</strong>
        <span class="clamp">{job.error.detail}</span>
      </p>
    );
  }
  return (
    <span class="tile-none">
      <Icon name={iconOf(job.type)} />
    </span>
  );
}

function iconOf(type: Job['type']): IconName {
  if (type === 'speech-to-text') return 'speak';
  if (type === 'picture-transform') return 'upscale';
  return type === 'text-to-image' || type === 'speech-to-image' ? 'make' : 'page';
}

/** The time of today, else the day. */
function shownTime(iso: string): string {
  const time = new Date(iso);
  const isToday = time.toDateString() === new Date().toDateString();
  return isToday
    ? time.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
    : time.toLocaleDateString([], { day: 'numeric', month: 'short' });
}
