/**
 * What API processes have counted, in Redis, for the picture of the traffic. Each process writes its counters once a second while
 * one of them asks for running samples (packages/shared/src/fleet/running.ts); a reading takes those of all processes.
 */
import {
  addCounter,
  addHistogram,
  type Clock,
  type Counts,
  CountsSchema,
  type Metrics,
  modelSuffix,
  parsedStored,
} from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';
import { z } from 'zod';

/** A process that has not written for this long counts as gone. */
const GONE_MS = 10_000;
const MAX_APIS = 32;

const ReportSchema = z.object({ at: z.number(), counts: CountsSchema });
export interface ApiCounts {
  readonly id: string;
  readonly counts: Counts;
}

type Used = Pick<
  Metrics<'api'>,
  | 'httpRequests'
  | 'httpRequestDuration'
  | 'jobsAccepted'
  | 'requests'
  | 'webhookAttempts'
  | 'webhookAttemptDuration'
>;

export async function countsOf(metrics: Used): Promise<Counts> {
  const counts: Counts = {};
  await addCounter(counts, metrics.httpRequests, ({ status }) => {
    const code = Number(status);
    if (code >= 500) return 'errors';
    return code >= 400 ? 'refused' : undefined;
  });
  await addHistogram(counts, metrics.httpRequestDuration, 'requests');
  await addCounter(counts, metrics.jobsAccepted, (labels) => `accepted${modelSuffix(labels)}`);
  await addCounter(counts, metrics.requests, (labels) =>
    labels.outcome === 'refused' ? `refused${modelSuffix(labels)}` : undefined,
  );
  await addCounter(counts, metrics.webhookAttempts, ({ outcome }) =>
    outcome === '2xx' ? undefined : 'failed_attempts',
  );
  await addHistogram(counts, metrics.webhookAttemptDuration, 'attempts');
  return counts;
}

export async function writeApiCounts(
  redis: Redis,
  keys: Keys,
  id: string,
  at: number,
  counts: Counts,
): Promise<void> {
  await redis
    .pipeline()
    .hset(keys.apiCounts, id, JSON.stringify({ at, counts }))
    .pexpire(keys.apiCounts, GONE_MS)
    .exec();
}

/** Of the processes that wrote lately, in order of their ids; forgets the others. */
export async function readApiCounts(redis: Redis, keys: Keys, clock: Clock): Promise<readonly ApiCounts[]> {
  const all = Object.entries(await redis.hgetall(keys.apiCounts));
  const found = all.map(([id, text]) => ({ id, report: parsedStored(ReportSchema, text) }));
  const isGone = (at: number | undefined): boolean => clock.now() - (at ?? 0) > GONE_MS;
  const gone = found.flatMap(({ id, report }) => (isGone(report?.at) ? [id] : []));
  if (gone.length > 0) await redis.hdel(keys.apiCounts, ...gone);
  return found
    .flatMap(({ id, report }) => (report && !gone.includes(id) ? [{ id, counts: report.counts }] : []))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .slice(0, MAX_APIS);
}
