/** How far a job is: its place in line, then its steps with the time that is left. */
import { texts } from '../texts/index.ts';
import type { FollowedJob } from './follow.ts';

export function ProgressLine({ followed }: { readonly followed: FollowedJob }) {
  if (followed.isLost.value) {
    return (
      <p class="fault" role="alert">
        {texts.make.followedNoMore}
      </p>
    );
  }
  const fraction = followed.progress.value?.fraction;
  const { main, side } = wordsOf(followed);
  return (
    <div class="progress">
      <div
        class="progress-bar"
        role="progressbar"
        aria-label={main}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={fraction === undefined ? undefined : Math.round(fraction * 100)}
        data-waiting={fraction === undefined}
      >
        <span style={{ width: `${(fraction ?? 0) * 100}%` }} />
      </div>
      <p class="progress-text">
        <span>{main}</span>
        <span class="progress-side">{side}</span>
      </p>
      <p class="lost" role="status">
        {!followed.isConnected.value && texts.make.lost}
      </p>
    </div>
  );
}

function wordsOf(followed: FollowedJob): { readonly main: string; readonly side: string } {
  const job = followed.job.value;
  const progress = followed.progress.value;
  const left = followed.secondsLeft.value;
  const side = left === undefined ? '' : texts.make.left(left);
  if (job.status === 'scheduled') {
    return { main: texts.make.scheduled(new Date(job.run_at ?? '').toLocaleString()), side };
  }
  if (job.status === 'queued') {
    return { main: job.queue ? texts.make.place(job.queue.position) : texts.make.waiting, side };
  }
  if (!progress) return { main: texts.status.running, side };
  const stage = texts.make.stages[progress.stage];
  const step = progress.stage === 'denoise' ? `, ${texts.make.step(progress.step, progress.steps)}` : '';
  return { main: `${stage}${step}`, side };
}
