import type { Metrics } from '@lehr/shared';
import { JANITOR_ACTIONS } from '@lehr/shared/queue';

/** Those of every janitor, and those that only an API process does. */
const ACTIONS = [...JANITOR_ACTIONS, 'canceled', 'files', 'leftovers'] as const;

export type JanitorMetrics = Pick<Metrics<'api'>, 'janitorActions'>;

/** Counts what janitors of this process did. From its call on every action has a value, so that a rate counts the first one too. */
export function countJanitor({
  janitorActions,
}: JanitorMetrics): (action: (typeof ACTIONS)[number], count: number) => void {
  for (const action of ACTIONS) janitorActions.inc({ action }, 0);
  return (action, count) => janitorActions.inc({ action }, count);
}
