/** The priority class of a job, within the limit of its key. */
import { type KeyLimits, PRIORITY_CLASSES, type PriorityClass } from '@lehr/shared';
import { refusal } from '../base/field-problems.ts';

/** Dialects have no field for it, so their jobs and all others that name no class get this one. */
const DEFAULT_CLASS: PriorityClass = 'standard';

/** Throws `invalid-input` for a class above the limit. Without a class the job gets the default, or the limit if that is lower. */
export function priorityOf(
  requested: PriorityClass | undefined,
  { max_priority }: Pick<KeyLimits, 'max_priority'>,
): PriorityClass {
  const allowed = PRIORITY_CLASSES.slice(PRIORITY_CLASSES.indexOf(max_priority));
  if (requested === undefined) return allowed.includes(DEFAULT_CLASS) ? DEFAULT_CLASS : max_priority;
  if (allowed.includes(requested)) return requested;
  throw refusal('invalid-input', [
    { pointer: '/priority', detail: `must be one of: ${allowed.join(', ')}, which this key allows` },
  ]);
}
