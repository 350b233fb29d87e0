/** What an API process counts of jobs: those whose deadline passed in the queue, and what its janitor did. */
import type { Metrics } from '@lehr/shared';
import { JANITOR_ACTIONS } from '@lehr/shared/queue';
import type { JobOutline } from '@lehr/shared/records';

/** Those of every janitor, and those that only an API process does. */
const ACTIONS = [...JANITOR_ACTIONS, 'canceled', 'files', 'leftovers'] as const;

type JanitorMetrics = Pick<Metrics<'api'>, 'janitorActions'>;

/** Counts what janitors of this process did. From its call on every action has a value, so that a rate counts the first one too. */
export function countJanitor({
  janitorActions,
}: JanitorMetrics): (action: (typeof ACTIONS)[number], count: number) => void {
  for (const action of ACTIONS) janitorActions.inc({ action }, 0);
  return (action, count) => janitorActions.inc({ action }, count);
}

/** Counts jobs whose deadline passed in the queue; workers count all other ends. */
export function countExpired(metrics: Pick<Metrics<'api'>, 'requests'>): (job: JobOutline) => void {
  return (job) => metrics.requests.inc({ ...metricLabels(job), outcome: 'expired' });
}

/** A workflow is labelled with its type, because combinations of models would be too many series; its nodes with their models. */
export function metricLabels(record: JobOutline): { model: string; version: string } {
  if (record.workflow) return { model: record.type, version: '' };
  const [model, version] = record.model.split('@');
  return { model, version };
}
