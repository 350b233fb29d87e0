/** Models and versions: who serves them, what waits for them, whether they take jobs, and which callers get which version. */
import type { QueueList } from '@lehr/client';
import { Panel } from '../parts/panel.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { texts } from '../texts/index.ts';
import { lehrOnce } from '../wire/lehr.ts';
import { useReading } from '../wire/reading.ts';
import { Rollouts } from './rollouts.tsx';

type Row = QueueList['models'][number] & { readonly waiting: number; readonly running: number };

const EVERY_MS = 2_000;
const read = lehrOnce.queues.bind(lehrOnce);
const words = texts.admin.models;

const COLUMNS: readonly Column<Row>[] = [
  { name: words.model, cell: ({ model }) => model },
  { name: words.workers, cell: ({ workers }) => workers, isNumber: true },
  { name: words.waiting, cell: ({ waiting }) => waiting, isNumber: true },
  { name: words.running, cell: ({ running }) => running, isNumber: true },
  { name: words.accepts, cell: ({ breaker, paused }) => (paused ? words.paused : words.breakers[breaker]) },
  {
    name: words.problem,
    cell: ({ problem }) => (problem === null ? texts.admin.none : <span class="fault">{problem}</span>),
  },
];

export function Models() {
  const reading = useReading(read, EVERY_MS);
  return (
    <Panel lead={words.lead} reading={reading}>
      {(list) => (
        <>
          <Table
            caption={texts.admin.tabs.models}
            rows={rowsOf(list)}
            idOf={({ model }) => model}
            columns={COLUMNS}
          />
          <Rollouts refs={list.models} />
        </>
      )}
    </Panel>
  );
}

function rowsOf({ models, data }: QueueList): Row[] {
  return models.map((each) => {
    const own = data.filter(({ model }) => model === each.model);
    const sum = (of: 'waiting' | 'running'): number => own.reduce((total, queue) => total + queue[of], 0);
    return { ...each, waiting: sum('waiting'), running: sum('running') };
  });
}
