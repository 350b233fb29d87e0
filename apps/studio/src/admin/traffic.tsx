/** The traffic of the installation as a picture that follows it, and the same numbers as a table. */
import type { Traffic } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { Panel } from '../parts/panel.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { texts } from '../texts/index.ts';
import { lehrOnce } from '../wire/lehr.ts';
import { useReading } from '../wire/reading.ts';
import { Rollouts } from './rollouts.tsx';
import { type TrafficEdge, trafficPicture } from './traffic-layout.ts';
import { Picture } from './traffic-picture.tsx';

const EVERY_MS = 1_000;
const words = texts.admin.traffic;

export function TrafficPanel() {
  const reading = useReading(lehrOnce.operations.traffic, EVERY_MS);
  return (
    <Panel lead={words.lead} reading={reading}>
      {(traffic) => <Shown traffic={traffic} />}
    </Panel>
  );
}

function Shown({ traffic }: { readonly traffic: Traffic }) {
  const picture = trafficPicture(traffic);
  // What is closed reads nothing.
  const areSharesOpen = useSignal(false);
  const onToggle = (event: { readonly currentTarget: HTMLDetailsElement }): void => {
    areSharesOpen.value = event.currentTarget.open;
  };
  return (
    <>
      <section class="card traffic">
        <Picture picture={picture} traffic={traffic} />
        <p class="hint" role="status">
          {traffic.window_s === null && words.warming}
          {traffic.more_workers > 0 && words.more(traffic.more_workers)}
        </p>
      </section>
      {traffic.models.some(({ share }) => share !== null) && (
        <details class="traffic-details" onToggle={onToggle}>
          <summary>{words.shares}</summary>
          {areSharesOpen.value && <Rollouts refs={traffic.models} />}
        </details>
      )}
      <details class="traffic-details">
        <summary>{words.table}</summary>
        <Table
          caption={words.label}
          rows={picture.edges}
          idOf={({ from, to }) => `${from} ${to}`}
          columns={COLUMNS}
        />
      </details>
    </>
  );
}

/** A node by its words and not by its kind. */
const nameOf = (id: string): string => {
  if (id === 'callers' || id === 'store' || id === 'receivers') return words[id];
  return id.slice(id.indexOf(' ') + 1);
};
const shown = (value: number | null, text: (value: number) => string): string =>
  value === null ? texts.admin.none : text(value);

const COLUMNS: readonly Column<TrafficEdge>[] = [
  { name: words.from, cell: ({ from }) => nameOf(from) },
  { name: words.to, cell: ({ to }) => nameOf(to) },
  { name: words.rate, cell: ({ rate }) => shown(rate, texts.admin.rate), isNumber: true },
  { name: words.problems, cell: ({ bad }) => texts.admin.rate(bad), isNumber: true },
  { name: words.time, cell: ({ ms }) => shown(ms, texts.admin.ms), isNumber: true },
];
