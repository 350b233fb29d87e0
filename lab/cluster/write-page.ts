/** Writes the tables and the picture of lab/cluster.md from the results of the suite, after its last file. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Figures, page } from './page.ts';
import { RESULTS } from './results.ts';
import type { Timeline } from './timeline.ts';
import { timelinePlot } from './timeline-plot.ts';

const PAGE = new URL('../cluster.md', import.meta.url).pathname;
const PICTURE = new URL('../cluster-timeline.svg', import.meta.url).pathname;

export function teardown(): void {
  const files = existsSync(RESULTS) ? readdirSync(RESULTS).sort() : [];
  const results = Object.fromEntries(
    files
      .filter((file) => file.endsWith('.json'))
      .map((file) => [file.replace('.json', ''), JSON.parse(readFileSync(join(RESULTS, file), 'utf8'))]),
  ) as Readonly<Record<string, Figures>>;
  writeFileSync(PAGE, page(readFileSync(PAGE, 'utf8'), results));
  if (results.timeline) writeFileSync(PICTURE, timelinePlot(results.timeline as unknown as Timeline));
}
