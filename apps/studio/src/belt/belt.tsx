/** What Lehr is doing now: who waits, what runs, and on which workers. */
import type { Activity } from '@lehr/client';
import { useEffect } from 'preact/hooks';
import { Link } from '../parts/link.tsx';
import { texts } from '../texts/index.ts';
import { QueueCard } from './queue-card.tsx';
import { activity, belts, fault, isLost, watch } from './watch.ts';
import { Workers } from './workers.tsx';

export function BeltView() {
  useEffect(watch, []);
  const now = activity.value;
  return (
    <div class="belt-view" data-lost={isLost.value}>
      <header class="belt-head">
        <div class="belt-words">
          <h1>{texts.belt.title}</h1>
          <p class="belt-lead">{texts.belt.lead}</p>
        </div>
        {now && <Summary now={now} />}
      </header>
      <Legend />
      <p class="lost" role="status">
        {isLost.value && texts.belt.lost}
      </p>
      <p class="fault" role="alert">
        {fault.value?.message}
      </p>
      {now ? <State now={now} /> : <p class="belt-loading">{!fault.value && texts.belt.loading}</p>}
    </div>
  );
}

function State({ now }: { readonly now: Activity }) {
  const { more_queues: more } = now.waiting;
  return (
    <>
      {now.workers.length === 0 && <Blank {...texts.belt.noWorkers} />}
      {now.workers.length > 0 && belts.value.length === 0 && (
        <Blank {...texts.belt.quiet} action={texts.belt.quiet.action} />
      )}
      {belts.value.map((belt) => (
        <QueueCard key={belt.queue} belt={belt} />
      ))}
      {more > 0 && <p class="hint">{texts.belt.moreQueues(more)}</p>}
      {now.workers.length > 0 && <Workers workers={now.workers} />}
    </>
  );
}

function Blank({
  title,
  text,
  action,
}: {
  readonly title: string;
  readonly text: string;
  readonly action?: string;
}) {
  return (
    <section class="blank belt-blank">
      <div class="belt-bed" aria-hidden="true" />
      <h2>{title}</h2>
      <p>{text}</p>
      {action && (
        <Link to={{ name: 'make' }} class="button button-primary">
          {action}
        </Link>
      )}
    </section>
  );
}

function Summary({ now }: { readonly now: Activity }) {
  const running = now.lanes.reduce(
    (sum, { samples, more_samples }) => sum + samples.length + more_samples,
    0,
  );
  const waiting = now.waiting.queues.reduce(
    (sum, { jobs }) => sum + jobs.interactive + jobs.standard + jobs.bulk,
    0,
  );
  const share = now.waiting.ms === 0 ? undefined : now.waiting.own_ms / now.waiting.ms;
  return (
    <dl class="belt-summary">
      <Figure value={`${now.workers.length}`} label={texts.belt.summary.workers(now.workers.length)} />
      <Figure value={`${running}`} label={texts.belt.summary.running} />
      <Figure value={`${waiting}`} label={texts.belt.summary.waiting} />
      {share !== undefined && (
        <Figure value={`${Math.round(share * 100)} %`} label={texts.belt.summary.share} share={share} />
      )}
    </dl>
  );
}

interface FigureProps {
  readonly value: string;
  readonly label: string;
  /** From 0 to 1. */
  readonly share?: number;
}

function Figure({ value, label, share }: FigureProps) {
  return (
    <div class="figure">
      <dt>{label}</dt>
      <dd>
        {value}
        {share !== undefined && (
          <span class="share" aria-hidden="true">
            <span style={{ width: `${share * 100}%` }} />
          </span>
        )}
      </dd>
    </div>
  );
}

function Legend() {
  return (
    <ul class="belt-legend" aria-label={texts.belt.legend.label}>
      <li>
        <span class="key key-own" aria-hidden="true" />
        {texts.belt.legend.own}
      </li>
      <li>
        <span class="key key-other" aria-hidden="true" />
        {texts.belt.legend.other}
      </li>
      <li>
        <span class="key key-waiting" aria-hidden="true" />
        {texts.belt.legend.waiting}
      </li>
      <li>
        <span class="key key-row" aria-hidden="true" />
        {texts.belt.legend.row}
      </li>
    </ul>
  );
}
