/** The workers with their devices, models, states and last errors. */
import { Workers } from '../belt/workers.tsx';
import { Panel } from '../parts/panel.tsx';
import { texts } from '../texts/index.ts';
import { lehrOnce } from '../wire/lehr.ts';
import { useReading } from '../wire/reading.ts';

const EVERY_MS = 2_000;
const read = lehrOnce.activity.bind(lehrOnce);

export function Fleet() {
  const reading = useReading(read, EVERY_MS);
  return (
    <Panel lead={texts.admin.fleet.lead} reading={reading}>
      {({ workers }) =>
        workers.length > 0 ? <Workers workers={workers} /> : <p class="blank">{texts.admin.fleet.none}</p>
      }
    </Panel>
  );
}
