/** What every route is made of: the app's type and the parts it may use. */
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Clock, Log, Metrics, MetricsPage, Registry } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { GroupQueues, WorkflowRunner } from '@lehr/shared/queue';
import type { RecordStore } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';
import type { Authenticator, Caller } from './auth/authenticator.ts';
import type { KeyStore } from './auth/key-store.ts';
import type { Files } from './files/files.ts';
import type { FleetView } from './fleet/fleet-view.ts';
import type { Channels } from './follow/channels.ts';
import type { EventFeeds } from './follow/event-feed.ts';
import type { EventLinks } from './follow/event-links.ts';
import type { JobWaits } from './follow/wait.ts';
import type { AdmissionParts } from './jobs/admission-parts.ts';
import type { Presenter } from './jobs/present.ts';
import type { WebhookParts } from './webhooks/parts.ts';

export interface ApiEnv {
  Variables: {
    requestId: string;
    /** The answer has every header it should have. */
    isComplete?: boolean;
    /** Set under /v1. */
    caller: Caller;
  };
}

export type Api = OpenAPIHono<ApiEnv>;

export interface ApiParts extends AdmissionParts {
  readonly registry: Registry;
  /** Unix seconds: when models.yaml last changed. */
  readonly registryChangedAtS: number;
  /** A connection of the role `api`. */
  readonly redis: Redis;
  readonly keys: Keys;
  readonly records: RecordStore;
  readonly queues: GroupQueues;
  readonly workflows: WorkflowRunner;
  readonly fleet: FleetView;
  readonly channels: Channels;
  readonly waits: JobWaits;
  readonly feeds: EventFeeds;
  readonly eventLinks: EventLinks;
  readonly presenter: Presenter;
  readonly store: ObjectStore;
  readonly files: Files;
  /** Of one file, whichever way it comes. */
  readonly maxUploadBytes: number;
  /** Verifies the links of a folder store; undefined when links lead elsewhere. */
  readonly linkSecret: string | undefined;
  readonly authenticator: Authenticator;
  readonly keyStore: KeyStore;
  readonly webhooks: WebhookParts;
  readonly publicUrl: string;
  /** How long an answer is held for its job on the wires that know no other. */
  readonly holdMs: number;
  /** How long outputs are kept after their job's end. */
  readonly outputTtlMs: number;
  readonly metrics: Metrics<'api'>;
  readonly metricsPage: MetricsPage;
  readonly clock: Clock;
  readonly log: Log;
}
