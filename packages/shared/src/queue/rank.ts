/**
 * A job's rank in its group queue: BullMQ's priority, 1..2097151, smaller goes first. Each priority class owns a third
 * of the range, so a class always goes before the next one.
 */
import { PRIORITY_CLASSES, type PriorityClass } from '../contracts/job.ts';

/** BullMQ packs the priority above a 32-bit counter into a double's 53 bits. */
export const MAX_RANK = 2 ** 21 - 1;
export const CLASS_WIDTH = Math.floor(MAX_RANK / PRIORITY_CLASSES.length);

/** The first rank of a class. */
export const firstRank = (priority: PriorityClass): number =>
  1 + PRIORITY_CLASSES.indexOf(priority) * CLASS_WIDTH;

/** The class a rank belongs to. Rank 0, a job that was handed back, counts as the most urgent. */
export function classOfRank(rank: number): PriorityClass {
  const index = Math.floor(Math.max(rank - 1, 0) / CLASS_WIDTH);
  return PRIORITY_CLASSES[Math.min(index, PRIORITY_CLASSES.length - 1)];
}
