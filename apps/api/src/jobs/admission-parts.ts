/** Builds the parts that decide whether a job is admitted, and how many streams a caller may open. */
import type { Clock } from '@lehr/shared';
import { Accepter, Admitter, type GroupQueues } from '@lehr/shared/queue';
import type { RecordStore } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';
import { Quotas } from '../access/quotas.ts';
import { Backlog } from '../fleet/backlog.ts';
import type { ExpectedWorkers } from '../fleet/expected-workers.ts';
import type { FleetView } from '../fleet/fleet-view.ts';
import { ModelSharesView } from '../fleet/model-shares.ts';
import { Streams } from '../follow/streams.ts';
import type { AdmitParts } from './admit.ts';
import { RecordRoom } from './room/record-room.ts';

export interface AdmissionParts extends AdmitParts {
  readonly streams: Streams;
  readonly recordRoom: RecordRoom;
}

export interface AdmissionOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly queues: GroupQueues;
  readonly records: RecordStore;
  readonly fleet: FleetView;
  readonly expected: ExpectedWorkers;
  readonly clock: Clock;
  readonly maxWaitMs: number;
  readonly maxGroups: number;
  readonly groupIdleMs: number;
}

export const admissionParts = (options: AdmissionOptions): AdmissionParts => {
  const { redis, keys, queues, records, fleet, expected, clock, maxWaitMs, maxGroups, groupIdleMs } = options;
  return {
    admitter: new Admitter(redis, keys),
    accepter: new Accepter(redis, keys, queues, records),
    quotas: new Quotas(redis, keys, clock),
    backlog: new Backlog(redis, keys, fleet, clock),
    expected,
    modelShares: new ModelSharesView(fleet),
    recordRoom: new RecordRoom(redis, keys, clock),
    streams: new Streams(),
    maxWaitMs,
    maxGroups,
    groupIdleMs,
    clock,
  };
};
