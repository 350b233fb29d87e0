/** The events of a job, with the time since it was created. */
import type { LoggedEvent } from '../jobs/follow.ts';
import { texts } from '../texts/index.ts';

interface EventsProps {
  readonly events: readonly LoggedEvent[];
  readonly startedAt: string;
}

export function Events({ events, startedAt }: EventsProps) {
  const start = Date.parse(startedAt);
  return (
    <section class="card">
      <h2>{texts.job.events}</h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls must be reachable with the keyboard */}
      <ol class="events" tabIndex={0} aria-label={texts.job.events}>
        {events.map(({ type, timestamp, note }, index) => (
          <li key={`${timestamp}-${index}`} data-type={type}>
            <time dateTime={timestamp}>{`+${texts.job.ms(Math.max(0, Date.parse(timestamp) - start))}`}</time>
            <span class="event-type">{type}</span>
            <span class="event-note">{note}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
