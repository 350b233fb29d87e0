/** Sends the requests of the corpus again. */
import { type Found, Run } from './campaign.ts';
import type { CorpusEntry } from './corpus.ts';
import type { Target } from './target.ts';

/** What shows a fault, with the name of its entry. */
export async function replay(
  target: Target,
  entries: readonly CorpusEntry[],
  maxBlockedMs?: number,
): Promise<Found[]> {
  const found: Found[] = [];
  for (const { name, batch, copies = 1, times = 1 } of entries) {
    const all = Array.from({ length: copies }, () => batch).flat();
    const run = new Run(target, { ...(maxBlockedMs !== undefined && { maxBlockedMs }) });
    await run.startRound();
    try {
      for (let i = 0; i < times; i++) await run.batch(all);
    } catch (error) {
      run.note(`${name}: ${error}`, batch, 0);
    }
    await run.endRound(0, undefined);
    found.push(...run.found);
  }
  return found;
}
