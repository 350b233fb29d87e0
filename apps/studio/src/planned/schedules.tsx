/** The schedules of the tenant: when they run, how the last runs ended, and pausing or deleting them. */
import type { Schedule } from '@lehr/client';
import { Link } from '../parts/link.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { texts } from '../texts/index.ts';
import { lehr } from '../wire/lehr.ts';
import { ActionButton } from './action-button.tsx';

const words = texts.planned;
const timeOf = (iso: string): string => new Date(iso).toLocaleString();

function Name({ schedule: { name, cron, timezone, every_s } }: { readonly schedule: Schedule }) {
  return (
    <span class="key-name">
      {name}
      <code>{every_s === null ? `${cron} ${timezone}` : words.every(every_s)}</code>
    </span>
  );
}

function NextRuns({ schedule: { next_runs, status } }: { readonly schedule: Schedule }) {
  const [first, ...others] = next_runs;
  if (status !== 'active' || first === undefined) return <>{words.none}</>;
  return (
    <details class="planned-runs">
      <summary>{timeOf(first)}</summary>
      <ol>
        {others.map((at) => (
          <li key={at}>{timeOf(at)}</li>
        ))}
      </ol>
    </details>
  );
}

/** A mark for each of the last runs, oldest first; those with a job lead to it. */
function LastRuns({ schedule: { last_runs } }: { readonly schedule: Schedule }) {
  if (last_runs.length === 0) return <>{words.none}</>;
  return (
    <ol class="planned-marks">
      {last_runs.toReversed().map(({ at, job, status, error }) => {
        const label = words.run(timeOf(at), words.runStates[status], error?.detail);
        const mark = <span class="planned-mark" data-status={status} title={label} />;
        return (
          <li key={at}>
            {job !== null && status !== 'gone' ? (
              <Link to={{ name: 'job', id: job }} class="planned-mark-link">
                {mark}
                <span class="hidden">{label}</span>
              </Link>
            ) : (
              <>
                {mark}
                <span class="hidden">{label}</span>
              </>
            )}
          </li>
        );
      })}
    </ol>
  );
}

function Actions({ schedule: { id, status } }: { readonly schedule: Schedule }) {
  const isPaused = status !== 'active';
  return (
    <div class="planned-actions">
      <ActionButton act={() => lehr.schedules.change(id, { paused: !isPaused })}>
        {isPaused ? words.resume : words.pause}
      </ActionButton>
      <ActionButton ask={words.deleteAsk} act={() => lehr.schedules.delete(id)}>
        {words.delete}
      </ActionButton>
    </div>
  );
}

const COLUMNS: readonly Column<Schedule>[] = [
  { name: words.schedule, cell: (schedule) => <Name schedule={schedule} /> },
  { name: words.state, cell: ({ status }) => words.scheduleStates[status] },
  { name: words.next, cell: (schedule) => <NextRuns schedule={schedule} /> },
  { name: words.last, cell: (schedule) => <LastRuns schedule={schedule} /> },
  {
    name: words.policies,
    cell: ({ catch_up, overlap }) => (
      <span class="hint">{`${words.catchUp[catch_up]} ${words.overlap[overlap]}`}</span>
    ),
  },
  { name: words.actions, cell: (schedule) => <Actions schedule={schedule} /> },
];

export const ScheduleTable = ({ schedules }: { readonly schedules: readonly Schedule[] }) => (
  <Table caption={words.schedules} rows={schedules} idOf={({ id }) => id} columns={COLUMNS} />
);
