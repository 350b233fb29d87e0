/** The place of the picture: empty, sharpening, or done. */
import { isOver, type Job } from '@lehr/client';
import type { FollowedJob } from '../jobs/follow.ts';
import { ProgressLine } from '../jobs/progress-line.tsx';
import { Picture } from '../parts/picture.tsx';
import { texts } from '../texts/index.ts';
import { change, settings } from './form.ts';
import { current } from './making.ts';
import { Result } from './result.tsx';

export function Stage() {
  const followed = current.value;
  return (
    <section class="stage" aria-label={texts.result.label}>
      {followed ? <Making followed={followed} /> : <Empty />}
    </section>
  );
}

function Empty() {
  const begin = (prompt: string): void => {
    change({ prompt });
    document.getElementById('prompt')?.focus();
  };
  return (
    <div class="empty">
      <div class="empty-glass" aria-hidden="true">
        <span />
        <span />
        <span />
      </div>
      <h2>{texts.make.emptyTitle}</h2>
      <p>{texts.make.emptyText}</p>
      <ul class="chips">
        {texts.make.examples.map((each) => (
          <li key={each}>
            <button type="button" class="chip" onClick={() => begin(each)}>
              {each}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Making({ followed }: { readonly followed: FollowedJob }) {
  const job = followed.job.value;
  return (
    <>
      <div class="pictures" data-count={Number(job.input.n ?? 1)}>
        {Array.from({ length: Number(job.input.n ?? 1) }, (_, index) => (
          <Pane key={`${job.id}-${index}`} followed={followed} index={index} />
        ))}
      </div>
      {isOver(job) ? <End job={job} /> : <ProgressLine followed={followed} />}
    </>
  );
}

function Pane({ followed, index }: { readonly followed: FollowedJob; readonly index: number }) {
  const job = followed.job.value;
  const prompt = String(job.input.prompt ?? '');
  const image = job.output?.images?.[index];
  const preview = followed.previews.value[index];
  const fraction = followed.progress.value?.fraction ?? 0;
  const ratio = `${Number(job.input.width ?? settings.value.width)} / ${Number(job.input.height ?? settings.value.height)}`;
  return (
    <div
      class="pane"
      data-status={followed.isLost.value ? 'expired' : job.status}
      style={{ aspectRatio: ratio, '--blur': `${(1 - fraction) * 14}px` }}
    >
      {preview && !image && <img class="pane-preview" src={preview} alt={texts.make.previewOf(prompt)} />}
      {image && <Picture image={image} alt={texts.make.pictureOf(prompt)} underlay={preview} />}
    </div>
  );
}

function End({ job }: { readonly job: Job }) {
  if (job.status === 'succeeded') return <Result job={job} />;
  const text =
    job.status === 'failed' ? job.error?.detail : texts.make.ended[job.status as 'canceled' | 'expired'];
  return (
    <p class={job.status === 'failed' ? 'fault' : 'ended'} role="status">
      {text}
    </p>
  );
}
