/**
 * A job's score in its group queue: its priority class, then its place in virtual time. BullMQ's claim takes the smallest score of
 * the prioritized set and reads nothing else from it, so Lehr sets the score: class x 2^51 + virtual milliseconds. A class holds
 * 2^51 ms, 71,000 years of engine time, so scores are never shifted and never run out, and a double keeps them exact.
 */
import { PRIORITY_CLASSES, type PriorityClass, urgencyOf } from '../contracts/job.ts';

export const CLASS_SPAN = 2 ** 51;

/** The smallest score of a class. */
export const firstScore = (priority: PriorityClass): number => urgencyOf(priority) * CLASS_SPAN;

export function classOfScore(score: number): PriorityClass {
  const index = Math.floor(Math.max(score, 0) / CLASS_SPAN);
  return PRIORITY_CLASSES[Math.min(index, PRIORITY_CLASSES.length - 1)];
}

/** BullMQ's priority of a job, from 1. It only makes BullMQ use the prioritized set; the score decides the order. */
export const bullPriority = (score: number): number => urgencyOf(classOfScore(score)) + 1;
