/** Jobs of all tenants that failed for good, and what no process could read. Their inputs are not shown. */
import type { DeadLetters } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { RetryButton } from '../job/retry-button.tsx';
import { Link } from '../parts/link.tsx';
import { Panel } from '../parts/panel.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { session } from '../session/session.ts';
import { texts } from '../texts/index.ts';
import { faultOf } from '../wire/fault.ts';
import { lehrOnce } from '../wire/lehr.ts';
import { useReading } from '../wire/reading.ts';

type Failed = DeadLetters['failed'][number];
type Unreadable = DeadLetters['unreadable'][number];

const EVERY_MS = 5_000;
const words = texts.admin.deadLetters;
const timeOf = (iso: string): string => new Date(iso).toLocaleString();

const FAILED: readonly Column<Failed>[] = [
  { name: words.job, cell: (failed) => <JobName failed={failed} /> },
  { name: words.tenant, cell: ({ tenant }) => tenant },
  { name: words.model, cell: ({ model }) => model },
  {
    name: words.reason,
    cell: ({ title, code }) => (
      <span>
        {title} <code>{code}</code>
      </span>
    ),
  },
  { name: words.attempts, cell: ({ attempts }) => attempts, isNumber: true },
  { name: words.at, cell: ({ failed_at: at }) => timeOf(at) },
  { name: words.again, cell: (failed) => <Again failed={failed} /> },
];

/** The API opens and retries jobs of the caller's tenant only. */
const isOwn = ({ tenant }: Failed): boolean => tenant === session.value?.tenant;

function JobName({ failed }: { readonly failed: Failed }) {
  const name = <code>{failed.job}</code>;
  return isOwn(failed) ? <Link to={{ name: 'job', id: failed.job }}>{name}</Link> : name;
}

function Again({ failed }: { readonly failed: Failed }) {
  const problem = useSignal('');
  if (!isOwn(failed)) return <span class="hint">{words.foreign}</span>;
  return (
    <div>
      <RetryButton
        job={{ id: failed.job, type: failed.type }}
        class="button button-small"
        onFault={(error) => {
          problem.value = faultOf(error).message;
        }}
      />
      <p class="fault" role="alert">
        {problem.value}
      </p>
    </div>
  );
}

const UNREADABLE: readonly Column<Unreadable>[] = [
  { name: words.unreadable, cell: ({ id }) => <code>{id}</code> },
  { name: words.reason, cell: ({ reason }) => reason },
  { name: words.at, cell: ({ at }) => timeOf(at) },
];

export function DeadLettersPanel() {
  const reading = useReading(lehrOnce.operations.deadLetters, EVERY_MS);
  return (
    <Panel lead={words.lead} reading={reading}>
      {({ failed, unreadable }) => (
        <>
          {failed.length === 0 ? (
            <p class="blank">{words.none}</p>
          ) : (
            <Table
              caption={texts.admin.tabs['dead-letters']}
              rows={failed}
              idOf={({ job }) => job}
              columns={FAILED}
            />
          )}
          {unreadable.length > 0 && (
            <Table caption={words.unreadable} rows={unreadable} idOf={({ id }) => id} columns={UNREADABLE} />
          )}
        </>
      )}
    </Panel>
  );
}
