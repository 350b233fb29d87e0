/** The place of the picture: empty, sharpening, or done. */
import { isOver, type Job } from '@lehr/client';
import type { FollowedJob } from '../jobs/follow.ts';
import { ProgressLine } from '../jobs/progress-line.tsx';
import { BeforeAfter } from '../parts/before-after.tsx';
import { Picture } from '../parts/picture.tsx';
import { texts } from '../texts/index.ts';
import { change, settings } from './form.ts';
import { beginning, current } from './making.ts';
import { Canvas } from './picture/canvas.tsx';
import { isAtCanvas, picture } from './picture/edit.ts';
import { placeOf } from './picture/frame.ts';
import { Result } from './result.tsx';

export function Stage() {
  const followed = current.value;
  return (
    <section class="stage" aria-label={texts.result.label}>
      {followed && picture.value && <Shown />}
      <Content followed={followed} />
    </section>
  );
}

function Content({ followed }: { readonly followed: FollowedJob | undefined }) {
  if (picture.value && (isAtCanvas.value || !followed)) return <Canvas picture={picture.value} />;
  return followed ? <Making followed={followed} /> : <Empty />;
}

/** The picture to change, or what was made. */
function Shown() {
  const options = [
    [true, texts.edit.canvas],
    [false, texts.edit.result],
  ] as const;
  return (
    <fieldset class="segmented stage-shown">
      <legend class="hidden">{texts.edit.shown}</legend>
      {options.map(([isCanvas, text]) => (
        <label key={text}>
          <input
            type="radio"
            name="shown"
            checked={isAtCanvas.value === isCanvas}
            onChange={() => {
              isAtCanvas.value = isCanvas;
            }}
          />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
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
      {image && <Made image={image} alt={texts.make.pictureOf(prompt)} underlay={preview} />}
    </div>
  );
}

/** Beside the picture that it began at, if there was one. */
function Made({ image, alt, underlay }: Parameters<typeof Picture>[0]) {
  const after = <Picture image={image} alt={alt} underlay={underlay} />;
  if (!beginning.value) return after;
  const { picture: begun, expand } = beginning.value;
  const before = <img src={begun.url} alt={texts.edit.before} style={placeOf(begun, expand)} />;
  return <BeforeAfter before={before} after={after} />;
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
