/** One job with everything that is known of it. */
import { isOver, type Job } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { titleOf } from '../gallery/shelf.ts';
import { FollowedJob } from '../jobs/follow.ts';
import { ProgressLine } from '../jobs/progress-line.tsx';
import { Clamped } from '../parts/clamped.tsx';
import { Icon } from '../parts/icon.tsx';
import { Link } from '../parts/link.tsx';
import { Status } from '../parts/status.tsx';
import { texts } from '../texts/index.ts';
import { lehr } from '../wire/lehr.ts';
import { Actions } from './actions.tsx';
import { Deliveries } from './deliveries.tsx';
import { Events } from './events.tsx';
import { Facts } from './facts.tsx';
import { Outputs } from './outputs.tsx';
import { PhaseBar } from './phase-bar.tsx';
import { Snippets } from './snippet-card.tsx';
import { WorkflowPicture } from './workflow-picture.tsx';

export function JobPage({ id }: { readonly id: string }) {
  const followed = useSignal<FollowedJob | undefined>(undefined);
  const isMissing = useSignal(false);
  useEffect(() => {
    let isLeft = false;
    lehr
      .get(id)
      .then((job) => {
        if (!isLeft) followed.value = new FollowedJob(job);
      })
      .catch(() => {
        isMissing.value = true;
      });
    return () => {
      isLeft = true;
      followed.value?.stop();
    };
  }, [id]);
  if (isMissing.value) return <Missing />;
  if (!followed.value) return <div class="job" aria-busy="true" />;
  return <Found followed={followed.value} />;
}

function Missing() {
  return (
    <section class="blank">
      <h1>{texts.job.title}</h1>
      <p>{texts.job.missing}</p>
      <Link to={{ name: 'gallery' }} class="button">
        {texts.job.back}
      </Link>
    </section>
  );
}

function Found({ followed }: { readonly followed: FollowedJob }) {
  const job = followed.job.value;
  return (
    <article class="job">
      <header class="job-head">
        <Link to={{ name: 'gallery' }} class="back">
          <Icon name="back" />
          {texts.job.back}
        </Link>
        <Clamped lines={3}>
          <h1>{titleOf(job)}</h1>
        </Clamped>
        <p class="job-line">
          <Status status={job.status} />
          <code>{job.id}</code>
        </p>
        <Actions followed={followed} />
      </header>
      <div class="job-body">
        <div class="job-main">
          {!isOver(job) && <ProgressLine followed={followed} />}
          <Fault job={job} />
          <WorkflowPicture job={job} />
          <Outputs followed={followed} />
          {job.metrics && <PhaseBar metrics={job.metrics} />}
          <Deliveries job={job} />
          <Snippets job={job} />
        </div>
        <aside class="job-side">
          <Facts job={job} />
          <Events events={followed.events.value} startedAt={job.created_at} />
        </aside>
      </div>
    </article>
  );
}

function Fault({ job }: { readonly job: Job }) {
  if (!job.error) return null;
  const { title, detail, code, retryable } = job.error;
  return (
    <section class="card card-fault" aria-label={texts.job.error}>
      <h2>{title}</h2>
      <p>{detail}</p>
      <p class="hint">
        <code>{code}</code> · {retryable ? texts.job.retryable : texts.job.final}
      </p>
    </section>
  );
}
