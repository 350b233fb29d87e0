/** Builds the parts that decide whether a job is admitted, and how many streams a caller may open. */
import type { Clock } from '@lehr/shared';
import { Admitter, type GroupQueues } from '@lehr/shared/queue';
import { type Keys, memoryShare, type Redis } from '@lehr/shared/redis';
import { Backlog } from '../fleet/backlog.ts';
import type { FleetView } from '../fleet/fleet-view.ts';
import { ModelSharesView } from '../fleet/model-shares.ts';
import { Quotas } from '../limits/quotas.ts';
import { Streams } from '../limits/streams.ts';
import { Recent } from '../recent.ts';
import type { AdmitParts } from './admit.ts';

export interface AdmissionParts extends AdmitParts {
  readonly streams: Streams;
}

export interface AdmissionOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly queues: GroupQueues;
  readonly fleet: FleetView;
  readonly clock: Clock;
  readonly maxWaitMs: number;
}

/** All requests of a second share one reading. */
const MEMORY_TTL_MS = 1000;

export const admissionParts = (options: AdmissionOptions): AdmissionParts => {
  const { redis, keys, queues, fleet, clock, maxWaitMs } = options;
  return {
    admitter: new Admitter(redis, keys, queues),
    quotas: new Quotas(redis, keys, clock),
    backlog: new Backlog(redis, keys, fleet, clock),
    modelShares: new ModelSharesView(fleet),
    redisMemory: new Recent(() => memoryShare(redis), MEMORY_TTL_MS, clock),
    streams: new Streams(),
    maxWaitMs,
    clock,
  };
};
