/** What makes jobs by itself: batches with their progress, and schedules with their next and last runs. */
import type { Batch, Schedule } from '@lehr/client';
import { Panel } from '../parts/panel.tsx';
import { texts } from '../texts/index.ts';
import { lehrOnce } from '../wire/lehr.ts';
import { useReading } from '../wire/reading.ts';
import { BatchTable } from './batches.tsx';
import { ScheduleTable } from './schedules.tsx';

const EVERY_MS = 2_000;
/** Newest first. */
const MAX_BATCHES = 50;
const words = texts.planned;

interface Plans {
  readonly batches: readonly Batch[];
  readonly schedules: readonly Schedule[];
}

async function readPlans({ signal }: { readonly signal: AbortSignal }): Promise<Plans> {
  const [{ data: batches }, schedules] = await Promise.all([
    lehrOnce.batches.list({ limit: MAX_BATCHES, signal }),
    lehrOnce.schedules.list({ signal }),
  ]);
  return { batches, schedules };
}

export function PlannedView() {
  const reading = useReading(readPlans, EVERY_MS);
  return (
    <div class="planned">
      <header class="charts-words">
        <h1>{words.title}</h1>
      </header>
      <Panel lead={words.lead} reading={reading}>
        {({ batches, schedules }) => (
          <>
            <section class="planned-part" aria-labelledby="planned-batches">
              <h2 id="planned-batches">{words.batches}</h2>
              {batches.length === 0 ? <p class="blank">{words.noBatch}</p> : <BatchTable batches={batches} />}
            </section>
            <section class="planned-part" aria-labelledby="planned-schedules">
              <h2 id="planned-schedules">{words.schedules}</h2>
              {schedules.length === 0 ? (
                <p class="blank">{words.noSchedule}</p>
              ) : (
                <ScheduleTable schedules={schedules} />
              )}
            </section>
          </>
        )}
      </Panel>
    </div>
  );
}
