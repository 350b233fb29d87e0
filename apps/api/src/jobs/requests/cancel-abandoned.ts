/** Cancels abandoned jobs: their request got no answer, and no caller asked for them in time (unanswered-requests.ts). */
import { type Clock, every, type Log, type Metrics } from '@lehr/shared';
import type { GroupQueues, WorkflowRunner } from '@lehr/shared/queue';
import type { RecordStore } from '@lehr/shared/records';
import { leaveQueue } from '../cancel.ts';
import type { UnansweredRequests } from './unanswered-requests.ts';

interface AbandonedParts {
  readonly unanswered: UnansweredRequests;
  readonly records: RecordStore;
  readonly queues: GroupQueues;
  readonly workflows: WorkflowRunner;
  readonly metrics: Pick<Metrics<'api'>, 'janitorActions'>;
  readonly clock: Clock;
  readonly log: Log;
}

const SWEEP_EVERY_MS = 10_000;

/** Every API process sweeps; each job goes to one of them. Returns a function that stops the sweeps. */
export const sweepAbandoned = (parts: AbandonedParts): (() => Promise<void>) =>
  every(SWEEP_EVERY_MS, () => cancelAbandoned(parts), {
    ...parts,
    failed: 'could not cancel abandoned jobs; trying again',
  });

/** One sweep. A job that runs already is left to finish. */
export async function cancelAbandoned(parts: AbandonedParts): Promise<void> {
  for (;;) {
    const due = await parts.unanswered.due();
    if (due.length === 0) return;
    const outcomes = await parts.records.apply(due.map((job) => ({ move: 'cancel', ...job })));
    const canceled = due.filter((_, i) => outcomes[i].code === 'ok').map(({ id }) => id);
    parts.metrics.janitorActions.inc({ action: 'canceled' }, canceled.length);
    const { records } = await parts.records.outlines(canceled);
    for (const record of records) if (record) await leaveQueue(parts, record);
  }
}
