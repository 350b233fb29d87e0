/**
 * Which group a worker claims from next: a pure choice over the heads of the group queues and the room in the engine. Jobs are
 * claimed just in time: only as many as start at the next step, because a job that waits inside a worker could have run
 * on another one.
 */
import { type PriorityClass, urgencyOf } from '@lehr/shared';
import type { GroupHead } from '@lehr/shared/queue';
import type { Room } from '../runs/lane-rows.ts';

/** The room for a job of this class in a group. */
export type RoomOf = (queue: string, priority: PriorityClass) => Room;

export interface Choice {
  readonly queue: string;
  /** Rows to fill; 1 for a single job. */
  readonly rows: number;
}

/** A group whose oldest job has waited longer than this is no longer passed over in favour of a running lane. */
const MAX_GROUP_WAIT_MS = 2000;

const urgency = (head: GroupHead): number => urgencyOf(head.priority);

/** The more urgent class first, then the group that has waited longest. */
const byUrgencyThenAge = (a: GroupHead, b: GroupHead): number =>
  urgency(a) - urgency(b) || b.waitedMs - a.waitedMs;

/**
 * The group to claim from and the rows to fill; undefined when no group can be served now. A full lane is served only if no other
 * group can be, with one job at the head of its group that is short enough: it has waited longest by the fair order, and the
 * engine pauses a long one for it.
 *
 * A running lane is filled while it has free rows and no group of the same urgency has waited too long. Otherwise a group of the
 * most urgent class is served in a new lane: the one that this worker has not served for longest (`lastServed` is smallest), then
 * the oldest. When all lanes are in use and a group without one has waited too long, the lane with the most free rows gets no more
 * jobs, so that it runs empty and frees its place. By age alone, a group with an old backlog would take that place again, and a
 * newcomer in another group would wait until the backlog was as young as its job.
 *
 * The room of a group is that for the class of its head: what less urgent classes have is in no lane's way (lane-rows.ts).
 */
export function chooseGroup(
  heads: readonly GroupHead[],
  roomOf: RoomOf,
  lastServed: (queue: string) => number = () => 0,
): Choice | undefined {
  const isPatient = (head: GroupHead): boolean => head.waitedMs <= MAX_GROUP_WAIT_MS;
  const free = (head: GroupHead): number => roomOf(head.queue, head.priority).freeRows;
  const isRunning = (head: GroupHead): boolean => roomOf(head.queue, head.priority).running;

  let servable = heads.filter((head) => free(head) > 0).sort(byUrgencyThenAge);
  const shutOut = heads
    .filter((head) => free(head) === 0 && !isRunning(head) && !isPatient(head))
    .sort(byUrgencyThenAge)[0];
  if (shutOut) {
    // A lane of a less urgent class is not in its way, nor is one of speech or texts.
    const isPlace = (head: GroupHead): boolean =>
      isRunning(head) && !roomOf(head.queue, head.priority).isUnlimited && urgency(head) <= urgency(shutOut);
    const inItsWay = servable.filter(isPlace);
    const emptiest = inItsWay.sort((a, b) => free(b) - free(a))[0];
    servable = servable.filter((head) => head !== emptiest);
  }

  const [first] = servable;
  // Short jobs would keep a lane busy that is to run empty.
  if (!first) return shutOut ? undefined : shortJob(heads, roomOf);
  const running = servable.find(isRunning);
  const next = running && urgency(running) === urgency(first) && isPatient(first) ? running : first;
  if (isRunning(next)) return { queue: next.queue, rows: free(next) };
  const withoutLane = servable.filter((head) => !isRunning(head) && urgency(head) === urgency(first));
  const [chosen] = withoutLane.sort(
    (a, b) => lastServed(a.queue) - lastServed(b.queue) || byUrgencyThenAge(a, b),
  );
  return { queue: chosen.queue, rows: free(chosen) };
}

function shortJob(heads: readonly GroupHead[], roomOf: RoomOf): Choice | undefined {
  const isShort = ({ queue, priority, costMs }: GroupHead): boolean =>
    costMs !== undefined && costMs <= (roomOf(queue, priority).shortJobMs ?? 0);
  const [chosen] = heads.filter(isShort).sort(byUrgencyThenAge);
  return chosen && { queue: chosen.queue, rows: 1 };
}
