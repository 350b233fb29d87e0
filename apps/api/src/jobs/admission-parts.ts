/** Everything that decides whether a job is made, and who may follow how many. */
import type { Clock } from '@lehr/shared';
import { AdmissionDesk, type GroupQueues } from '@lehr/shared/queue';
import type { Keys, Redis } from '@lehr/shared/redis';
import { UnansweredRequests } from '../calls/unanswered-requests.ts';
import { Backlog } from '../fleet/backlog.ts';
import type { FleetView } from '../fleet/fleet-view.ts';
import { Quotas } from '../limits/quotas.ts';
import { Streams } from '../limits/streams.ts';
import type { AdmitParts } from './admit.ts';

export interface AdmissionParts extends AdmitParts {
  readonly orphans: UnansweredRequests;
  readonly streams: Streams;
}

export function admissionParts(given: {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly queues: GroupQueues;
  readonly fleet: FleetView;
  readonly clock: Clock;
  readonly maxWaitMs: number;
}): AdmissionParts {
  const { redis, keys, queues, fleet, clock, maxWaitMs } = given;
  return {
    desk: new AdmissionDesk(redis, keys, queues),
    quotas: new Quotas(redis, keys, clock),
    backlog: new Backlog(redis, keys, fleet, clock),
    orphans: new UnansweredRequests(redis, keys),
    streams: new Streams(),
    maxWaitMs,
    clock,
  };
}
