/** Calls off waiting jobs whose request lost its answer and that nobody came back for (orphans.ts). */
import type { Clock, Log } from '@lehr/shared';
import type { GroupQueues, WorkflowRunner } from '@lehr/shared/queue';
import type { RecordStore } from '@lehr/shared/records';
import { cancelJob } from '../jobs/cancel.ts';
import type { UnansweredRequests } from './unanswered-requests.ts';

interface AbandonedParts {
  readonly orphans: UnansweredRequests;
  readonly records: RecordStore;
  readonly queues: GroupQueues;
  readonly workflows: WorkflowRunner;
  readonly clock: Clock;
  readonly log: Log;
}

const EVERY_MS = 10_000;

/** Every API looks; each job is given to one of them. Returns what ends it. */
export function sweepAbandoned(parts: AbandonedParts): () => Promise<void> {
  const stop = new AbortController();
  const sweeping = sweeps(parts, stop.signal);
  return async () => {
    stop.abort();
    await sweeping;
  };
}

async function sweeps(parts: AbandonedParts, signal: AbortSignal): Promise<void> {
  const { clock, log } = parts;
  while (!signal.aborted) {
    await clock.sleep(EVERY_MS, signal);
    if (signal.aborted) return;
    try {
      await sweepOnce(parts);
    } catch (error) {
      log.warn({ error }, 'forsaken jobs were not called off; trying again');
    }
  }
}

export async function sweepOnce(parts: AbandonedParts): Promise<void> {
  for (const record of await parts.records.readMany(await parts.orphans.takeAbandoned())) {
    if (record?.state === 'queued') await cancelJob(parts, record);
  }
}
