/** Writes the tables and the picture of lab/cluster.md from the results of the suite, after its last file. */
import { readFileSync, writeFileSync } from 'node:fs';
import { readResults } from '../results.ts';
import { type Figures, page } from './page.ts';
import { RESULTS } from './results.ts';
import type { Timeline } from './timeline.ts';
import { timelinePlot } from './timeline-plot.ts';

const PAGE = new URL('../cluster.md', import.meta.url).pathname;
const PICTURE = new URL('../cluster-timeline.svg', import.meta.url).pathname;

export function teardown(): void {
  const results = Object.fromEntries(readResults<Figures>(RESULTS));
  writeFileSync(PAGE, page(readFileSync(PAGE, 'utf8'), results));
  if (results.timeline) writeFileSync(PICTURE, timelinePlot(results.timeline as unknown as Timeline));
}
