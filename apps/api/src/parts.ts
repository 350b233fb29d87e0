/** The type of the Hono app, and the parts that its routes are built over, room by room. */
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Clock, Log, Metrics, MetricsPage, Registry, Setting } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { GroupQueues, WorkflowRunner } from '@lehr/shared/queue';
import type { RecordStore } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';
import type { Tracing } from '@lehr/shared/tracing';
import type { AuditLog } from './access/audit/audit-log.ts';
import type { Authenticator } from './access/auth/authenticator.ts';
import type { KeyStore } from './access/auth/key-store.ts';
import type { SessionStore } from './access/session/session-store.ts';
import type { ActionStore } from './actions/action-store.ts';
import type { BatchReads } from './batches/batch-reads.ts';
import type { BatchStore } from './batches/batch-store.ts';
import type { BatchEndpoints } from './batches/endpoints.ts';
import type { FleetView } from './fleet/fleet-view.ts';
import type { PauseStore } from './fleet/pause-store.ts';
import type { PoolScaler } from './fleet/pool-scaler.ts';
import type { Channels } from './follow/channels.ts';
import type { EventFeeds } from './follow/event-feed.ts';
import type { EventLinks } from './follow/event-links.ts';
import type { Streams } from './follow/streams.ts';
import type { JobWaits } from './follow/wait.ts';
import type { BodyReads } from './http/bodies/body-reads.ts';
import type { LargeBodies } from './http/bodies/large-bodies.ts';
import type { ApiEnv } from './http/middleware/api-env.ts';
import type { ActiveRequests } from './http/turns/active-requests.ts';
import type { CallerLines } from './http/turns/caller-lines.ts';
import type { AdmitParts } from './jobs/admit.ts';
import type { DirectCalls } from './jobs/direct-calls.ts';
import type { Files } from './jobs/files/files.ts';
import type { JobPages } from './jobs/job-pages.ts';
import type { LargeAnswers } from './jobs/large-answers.ts';
import type { Presenter } from './jobs/present.ts';
import type { UnansweredRequests } from './jobs/requests/unanswered-requests.ts';
import type { StorageQuota } from './jobs/space/storage-quota.ts';
import type { TenantUsage } from './jobs/tenant-usage.ts';
import type { DeadLetterView } from './operations/dead-letters.ts';
import type { RolloutStore } from './rollouts/rollout-store.ts';
import type { ScheduleStore } from './schedules/schedule-store.ts';
import type { WebhookParts } from './webhooks/parts.ts';

export type Api = OpenAPIHono<ApiEnv>;

/** Used by every room. */
export interface CoreParts {
  /** A connection of the role `api`. */
  readonly redis: Redis;
  readonly keys: Keys;
  readonly records: RecordStore;
  readonly queues: GroupQueues;
  readonly workflows: WorkflowRunner;
  readonly registry: Registry;
  readonly fleet: FleetView;
  readonly metrics: Metrics<'api'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Absent: nothing is traced. */
  readonly tracing?: Tracing | undefined;
}

/** Where the API and the objects are, for links and for pages. */
export interface PlaceParts {
  readonly publicUrl: string;
  readonly store: ObjectStore;
  /** For people: where the store is. */
  readonly storePlace: string;
  /** Where links to outputs may lead besides `publicUrl`. */
  readonly storeOrigins: readonly string[];
  /** Verifies links to the folder store; undefined for S3, which verifies its own. */
  readonly linkSecret: string | undefined;
  readonly linkTtlS: number;
  /** How long outputs are kept after their job has ended. */
  readonly outputTtlMs: number;
  /** Of security.txt. */
  readonly securityContacts: readonly string[];
}

export interface AccessParts {
  readonly authenticator: Authenticator;
  readonly keyStore: KeyStore;
  readonly sessions: SessionStore;
  readonly audit: AuditLog;
}

export interface HttpParts {
  readonly activeRequests: ActiveRequests;
  readonly callerLines: CallerLines;
  readonly bodyReads: BodyReads;
  readonly largeBodies: LargeBodies;
  /** The largest file that is taken, uploaded or in a request. */
  readonly maxUploadBytes: number;
  /** Addresses and ranges of proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
}

export interface FollowParts {
  readonly channels: Channels;
  readonly waits: JobWaits;
  readonly feeds: EventFeeds;
  readonly eventLinks: EventLinks;
  readonly streams: Streams;
  /** How long a request is held for its job in dialects that answer with the result. */
  readonly holdMs: number;
}

export interface JobParts extends AdmitParts {
  readonly unanswered: UnansweredRequests;
  readonly direct: DirectCalls;
  readonly presenter: Presenter;
  readonly pages: JobPages;
  readonly files: Files;
  readonly storage: StorageQuota;
  readonly largeAnswers: LargeAnswers;
  readonly tenantUsage: TenantUsage;
  readonly rollouts: RolloutStore;
  readonly pauses: PauseStore;
  readonly webhooks: WebhookParts;
  readonly batches: BatchStore;
  readonly batchReads: BatchReads;
  readonly batchEndpoints: BatchEndpoints;
  readonly schedules: ScheduleStore;
  readonly jobActions: ActionStore;
}

export interface OperationsParts {
  /** The name of this process among those of the installation. */
  readonly instance: string;
  /** Without the values of secrets. */
  readonly settings: readonly Setting[];
  /** Why models.yaml, which has changed, cannot be used; undefined when it is in force. */
  readonly modelsProblem: () => string | undefined;
  readonly scaler: PoolScaler;
  readonly deadLetters: DeadLetterView;
  readonly metricsPage: MetricsPage;
  /** Of a Prometheus that scrapes this installation. */
  readonly prometheusUrl: string | undefined;
  /** Of an hour of device time, and its currency; undefined when the operator states none. */
  readonly devicePrice: number | undefined;
  readonly currency: string | undefined;
}

/** Everything that main opens. */
export type ApiParts = CoreParts &
  PlaceParts &
  AccessParts &
  HttpParts &
  FollowParts &
  JobParts &
  OperationsParts;
