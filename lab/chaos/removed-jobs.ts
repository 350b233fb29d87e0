/**
 * Which ended jobs may be gone: while Redis is full, the API removes jobs that ended at least a minute ago and whose webhooks were
 * delivered. A job that vanished in any other way is lost.
 */
import { isEnded, type Sighting, type Submission } from './history.ts';

/** Unix ms, by the clock of this machine, which Redis shares. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

/** How long a job is kept after its end, as docs/operating.md promises. */
const KEPT_MS = 60_000;
/** A round of removals that began while Redis was full may end later than that. */
const ROUND_MS = 10_000;

export interface SeenHistory {
  readonly submissions: readonly Pick<Submission, 'id' | 'hasWebhook'>[];
  /** Also those of delivered webhooks. */
  readonly sightings: readonly Sighting[];
}

/** Whether the API may have removed this job. The job must have been seen in its end: in an answer, or in an accepted webhook. */
export function mayBeRemoved(
  { submissions, sightings }: SeenHistory,
  fullPeriods: readonly Period[],
  delivered: ReadonlySet<string>,
): (id: string) => boolean {
  const ends = new Map<string, number>();
  for (const { job } of sightings) {
    if (isEnded(job) && job.finished_at !== null) ends.set(job.id, Date.parse(job.finished_at));
  }
  const hooked = new Set(submissions.flatMap(({ id, hasWebhook }) => (id && hasWebhook ? [id] : [])));
  return (id) => {
    const end = ends.get(id);
    if (end === undefined || (hooked.has(id) && !delivered.has(id))) return false;
    return fullPeriods.some(({ to }) => end + KEPT_MS <= to + ROUND_MS);
  };
}
