/** What each tenant has now: its jobs by hour as small bars, and what waits, runs and is stored; and the use of days. */
import type { Usage } from '@lehr/client';
import { Panel } from '../parts/panel.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { texts } from '../texts/index.ts';
import { lehrOnce } from '../wire/lehr.ts';
import { useReading } from '../wire/reading.ts';
import { UseOfDays } from './use-of-days.tsx';

type Tenant = Usage['tenants'][number];

const EVERY_MS = 5_000;
const read = (options: { readonly signal: AbortSignal }): Promise<Usage> => lehrOnce.usage(options);
const words = texts.admin.tenants;
const HEIGHT = 28;
const BAR = 6;

const COLUMNS: readonly Column<Tenant>[] = [
  { name: words.tenant, cell: ({ tenant }) => tenant },
  {
    name: words.day,
    cell: (tenant) => (
      <span class="hours">
        <Hours tenant={tenant} />
        {tenant.jobs_by_hour.reduce((sum, jobs) => sum + jobs, 0)}
      </span>
    ),
  },
  { name: words.waiting, cell: ({ waiting }) => waiting, isNumber: true },
  { name: words.running, cell: ({ running }) => running, isNumber: true },
  { name: words.work, cell: ({ waiting_ms }) => texts.admin.ms(waiting_ms), isNumber: true },
  { name: words.stored, cell: ({ stored_mb }) => words.megabytes(stored_mb), isNumber: true },
];

export function Tenants() {
  const reading = useReading(read, EVERY_MS);
  return (
    <>
      <Panel lead={words.lead} reading={reading}>
        {({ tenants, more_tenants: more }) => (
          <>
            {tenants.length === 0 ? (
              <p class="blank">{words.none}</p>
            ) : (
              <Table
                caption={texts.admin.tabs.tenants}
                rows={tenants}
                idOf={({ tenant }) => tenant}
                columns={COLUMNS}
              />
            )}
            {more > 0 && <p class="hint">{words.more(more)}</p>}
          </>
        )}
      </Panel>
      <UseOfDays />
    </>
  );
}

/** The newest hour is on the right. */
function Hours({ tenant: { tenant, jobs_by_hour: hours } }: { readonly tenant: Tenant }) {
  const most = Math.max(...hours);
  return (
    <svg
      class="hours-chart"
      viewBox={`0 0 ${hours.length * BAR} ${HEIGHT}`}
      role="img"
      aria-label={words.hours(tenant, most)}
    >
      {hours.map((jobs, i) => {
        const height = jobs === 0 ? 1 : Math.max(2, (HEIGHT * jobs) / most);
        return (
          <rect
            key={i}
            data-empty={jobs === 0}
            x={i * BAR}
            y={HEIGHT - height}
            width={BAR - 1.5}
            height={height}
            rx={1}
          />
        );
      })}
    </svg>
  );
}
