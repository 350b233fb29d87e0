/** The type of the Hono app, and the parts that its routes are built over. */
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
import type { FleetView } from './fleet/fleet-view.ts';
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
import type { WebhookParts } from './webhooks/parts.ts';

export type Api = OpenAPIHono<ApiEnv>;

export interface ApiParts extends AdmitParts {
  readonly registry: Registry;
  /** Why models.yaml, which has changed, cannot be used; undefined when it is in force. */
  readonly modelsProblem: () => string | undefined;
  /** A connection of the role `api`. */
  readonly redis: Redis;
  readonly keys: Keys;
  readonly records: RecordStore;
  readonly queues: GroupQueues;
  readonly workflows: WorkflowRunner;
  readonly fleet: FleetView;
  readonly scaler: PoolScaler;
  readonly rollouts: RolloutStore;
  readonly channels: Channels;
  readonly unanswered: UnansweredRequests;
  readonly waits: JobWaits;
  readonly direct: DirectCalls;
  readonly feeds: EventFeeds;
  readonly eventLinks: EventLinks;
  readonly presenter: Presenter;
  readonly pages: JobPages;
  readonly deadLetters: DeadLetterView;
  readonly store: ObjectStore;
  /** For people: where the store is. */
  readonly storePlace: string;
  readonly files: Files;
  readonly storage: StorageQuota;
  readonly largeBodies: LargeBodies;
  readonly largeAnswers: LargeAnswers;
  readonly bodyReads: BodyReads;
  /** The largest file that is taken, uploaded or in a request. */
  readonly maxUploadBytes: number;
  /** Verifies links to the folder store; undefined for S3, which verifies its own. */
  readonly linkSecret: string | undefined;
  readonly streams: Streams;
  readonly activeRequests: ActiveRequests;
  readonly callerLines: CallerLines;
  readonly authenticator: Authenticator;
  readonly keyStore: KeyStore;
  readonly sessions: SessionStore;
  readonly audit: AuditLog;
  readonly webhooks: WebhookParts;
  /** The name of this process among those of the installation. */
  readonly instance: string;
  /** Without the values of secrets. */
  readonly settings: readonly Setting[];
  readonly publicUrl: string;
  /** Where links to outputs may lead besides `publicUrl`. */
  readonly storeOrigins: readonly string[];
  /** Addresses and ranges of proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  /** Of security.txt. */
  readonly securityContacts: readonly string[];
  /** How long a request is held for its job in dialects that answer with the result. */
  readonly holdMs: number;
  /** How long outputs are kept after their job has ended. */
  readonly outputTtlMs: number;
  readonly linkTtlS: number;
  readonly metrics: Metrics<'api'>;
  readonly tenantUsage: TenantUsage;
  readonly metricsPage: MetricsPage;
  /** Of a Prometheus that scrapes this installation. */
  readonly prometheusUrl: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Absent: nothing is traced. */
  readonly tracing?: Tracing | undefined;
}
