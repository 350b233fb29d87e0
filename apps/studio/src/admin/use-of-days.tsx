/** Ended jobs, device time and price of the last days, summed up as chosen, and the same as a file for spreadsheets. */
import type { Usage } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { Panel } from '../parts/panel.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { texts } from '../texts/index.ts';
import { lehrOnce } from '../wire/lehr.ts';
import { useReading } from '../wire/reading.ts';

type Row = Usage['rows'][number];
type Part = Usage['by'][number];

const EVERY_MS = 60_000;
const DAY_MS = 86_400_000;
const RANGES = [7, 30, 90] as const;
const PARTS = ['day', 'tenant', 'key', 'model'] as const;
const words = texts.admin.use;

const firstDay = (days: number): string =>
  new Date(Date.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10);

export function UseOfDays() {
  const days = useSignal<number>(7);
  const by = useSignal<Part>('day');
  const table = `/v1/usage?from=${firstDay(days.value)}&by=${PARTS.join(',')}&format=csv`;
  return (
    <section class="use">
      <header class="use-head">
        <h2>{words.title}</h2>
        <Choice label={words.range} chosen={days} all={RANGES} nameOf={words.days} />
        <Choice label={words.by} chosen={by} all={PARTS} nameOf={(part) => words.parts[part]} />
        <a class="button button-small" href={table} download>
          {words.csv}
        </a>
      </header>
      <Sums key={`${days.value} ${by.value}`} days={days.value} by={by.value} />
    </section>
  );
}

interface ChoiceProps<Value> {
  readonly label: string;
  readonly chosen: { value: Value };
  readonly all: readonly Value[];
  readonly nameOf: (value: Value) => string;
}

function Choice<Value extends string | number>({ label, chosen, all, nameOf }: ChoiceProps<Value>) {
  return (
    <fieldset class="segmented">
      <legend class="hidden">{label}</legend>
      {all.map((each) => (
        <label key={each}>
          <input
            type="radio"
            name={label}
            checked={chosen.value === each}
            onChange={() => {
              chosen.value = each;
            }}
          />
          <span>{nameOf(each)}</span>
        </label>
      ))}
    </fieldset>
  );
}

function Sums({ days, by }: { readonly days: number; readonly by: Part }) {
  const reading = useReading(({ signal }) => lehrOnce.usage({ from: firstDay(days), by, signal }), EVERY_MS);
  return (
    <Panel lead={words.lead} reading={reading}>
      {(usage) =>
        usage.rows.length === 0 ? <p class="blank">{words.none}</p> : <Found usage={usage} by={by} />
      }
    </Panel>
  );
}

/** The newest day, or the largest use, is first; the last row is the sum. */
function Found({ usage: { rows, total, currency }, by }: { readonly usage: Usage; readonly by: Part }) {
  const columns = useMemo(() => columnsOf(by, rows, currency), [by, rows, currency]);
  const sorted = [...rows].sort((a, b) =>
    by === 'day' ? (b.day ?? '').localeCompare(a.day ?? '') : b.device_s - a.device_s,
  );
  return (
    <Table
      caption={words.title}
      rows={[...sorted, { ...total, [by]: words.total }]}
      idOf={(row) => row[by] ?? ''}
      columns={columns}
    />
  );
}

function columnsOf(by: Part, rows: readonly Row[], currency: string | null): readonly Column<Row>[] {
  const most = Math.max(...rows.map(({ device_s }) => device_s), 0.001);
  const priced: Column<Row> = {
    name: currency === null ? words.price : `${words.price} (${currency})`,
    cell: ({ price = 0 }) => price.toFixed(2),
    isNumber: true,
  };
  return [
    { name: words.parts[by], cell: (row) => row[by] ?? words.unknown },
    { name: words.jobs, cell: ({ jobs }) => jobs, isNumber: true },
    { name: words.failed, cell: ({ failed, expired }) => failed + expired, isNumber: true },
    { name: words.canceled, cell: ({ canceled }) => canceled, isNumber: true },
    {
      name: words.device,
      cell: (row) => (
        <span class="use-device">
          {rows.includes(row) && <meter class="use-bar" aria-hidden="true" max={most} value={row.device_s} />}
          <span>{words.duration(row.device_s)}</span>
        </span>
      ),
      isNumber: true,
    },
    ...(rows.some(({ price }) => price !== undefined) ? [priced] : []),
  ];
}
