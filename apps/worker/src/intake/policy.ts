/**
 * Which group a worker takes jobs from next: a pure choice over the heads of the group queues and the room in the
 * engine. Jobs are taken just in time: as many as start at the next step, and no more, because a job that waits in a
 * worker could have run on another one.
 */
import { PRIORITY_CLASSES } from '@lehr/shared';
import type { GroupHead } from '@lehr/shared/queue';

/** A lane that is running, or would be if we took a job for it. */
export interface Room {
  /** Rows the lane could take at its next step. */
  readonly freeRows: number;
  /** Samples are in it now. */
  readonly running: boolean;
}

export interface Choice {
  readonly queue: string;
  /** Rows to fill. */
  readonly rows: number;
}

/** Feed a running lane only while nobody else has waited longer than this. */
export const MAX_GROUP_WAIT_MS = 2000;

const urgency = (head: GroupHead): number => PRIORITY_CLASSES.indexOf(head.priority);

/** More urgent class first, then whoever has waited longest. */
const byUrgencyThenAge = (a: GroupHead, b: GroupHead): number => urgency(a) - urgency(b) || a.since - b.since;

/**
 * The group to take from and the rows to fill; undefined when nobody can be served now.
 *
 * A running lane is fed while it has free rows and nobody as urgent has waited too long; else whoever is most urgent,
 * then oldest, is served, in a lane of its own. When every lane is taken and somebody without one has waited too
 * long, the emptiest lane is fed no more: it runs dry and makes place.
 */
export function chooseGroup(
  heads: readonly GroupHead[],
  roomOf: (queue: string) => Room,
  now: number,
  maxGroupWaitMs = MAX_GROUP_WAIT_MS,
): Choice | undefined {
  const isPatient = (head: GroupHead): boolean => now - head.since <= maxGroupWaitMs;
  const free = (head: GroupHead): number => roomOf(head.queue).freeRows;
  const isRunning = (head: GroupHead): boolean => roomOf(head.queue).running;

  let servable = heads.filter((head) => free(head) > 0).sort(byUrgencyThenAge);
  const isShutOut = heads.some((head) => free(head) === 0 && !isRunning(head) && !isPatient(head));
  if (isShutOut) {
    const emptiest = servable.filter(isRunning).sort((a, b) => free(b) - free(a))[0];
    servable = servable.filter((head) => head !== emptiest);
  }

  const [first] = servable;
  if (!first) return undefined;
  const running = servable.find(isRunning);
  const chosen = running && urgency(running) === urgency(first) && isPatient(first) ? running : first;
  return { queue: chosen.queue, rows: free(chosen) };
}
