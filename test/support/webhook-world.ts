/** Webhooks over a real Redis: jobs with webhooks, and processes that deliver them, with short times. */
import { onTestFinished } from 'vitest';
import type { AuditTarget } from '../../apps/api/src/access/audit/audit-log.ts';
import { Channels } from '../../apps/api/src/follow/channels.ts';
import type { Renderer, Renderers } from '../../apps/api/src/webhooks/event-message.ts';
import { openWebhooks, type WebhookOptions, type WebhookParts } from '../../apps/api/src/webhooks/parts.ts';
import { WebhookService, type WebhookServiceTimes } from '../../apps/api/src/webhooks/webhook-service.ts';
import { createEgress, type Egress, parseAllowList } from '../../packages/shared/src/egress/index.ts';
import {
  createMetrics,
  DEFAULT_TENANT,
  type JobId,
  type Log,
  type Metrics,
  type MetricsPage,
  newLeaseToken,
  silentLog,
  systemClock,
  type TenantId,
  WEBHOOK_EVENTS,
} from '../../packages/shared/src/index.ts';
import type { StoredWebhook } from '../../packages/shared/src/records/index.ts';
import type { Keys } from '../../packages/shared/src/redis/index.ts';
import { type QueueWorld, queueWorld } from './queue-world.ts';
import { testRedis } from './redis.ts';

export const SECRET_KEY = 'a secret key of thirty-two characters or more';

export const QUICK_TIMES: WebhookServiceTimes = {
  pollMs: 50,
  holdMs: 500,
  progressEveryMs: 100,
  retryDelaysMs: [20, 40, 60],
  closeAfterMs: 60_000,
  // Long: on a busy machine a lease must not run out and cause a second delivery. Tests of lost leases set their own.
  leaseMs: 30_000,
};

export interface Deliverer {
  readonly delivery: WebhookService;
  readonly metrics: Metrics<'api'>;
  readonly page: MetricsPage;
}

export interface WebhookWorld extends QueueWorld {
  readonly hooks: WebhookParts;
  /** Starts another process that delivers. */
  deliverer(options?: DelivererOptions): Promise<Deliverer>;
  /** A job whose webhook goes to this URL, by default for all events. */
  hooked(url: string, webhook?: Partial<StoredWebhook>, tenant?: TenantId): Promise<JobId>;
  /** Starts a job and fails it. */
  run(id: JobId): Promise<void>;
  signing(owner?: TenantId): Promise<string>;
}

export interface DelivererOptions {
  readonly times?: Partial<WebhookServiceTimes>;
  readonly renderers?: Renderers;
  readonly timeoutMs?: number;
  readonly log?: Log;
  readonly egress?: Egress;
}

/** Renders the event, the job and its state. */
export const PLAIN: Renderer = {
  render: async (record, event) => ({ type: event, data: { id: record.id, status: record.state } }),
  retries: (event) => event !== 'job.progress',
};

/** Starts a process that delivers what others have put into this Redis. */
export async function startDeliverer(
  url: string,
  { keys, records }: Pick<QueueWorld, 'keys' | 'records'>,
  { times, renderers = { native: PLAIN }, log = silentLog, ...settings }: DelivererOptions = {},
): Promise<Deliverer> {
  const { metrics, page } = createMetrics('api');
  const delivery = new WebhookService({
    ...openWebhooks(testRedis(url), { ...webhookOptions(keys), timeoutMs: 2000, ...settings }),
    channels: new Channels(testRedis(url, 'subscriber')),
    keys,
    records,
    renderers,
    clock: systemClock,
    metrics,
    log,
    times: { ...QUICK_TIMES, ...times },
  });
  onTestFinished(() => delivery.stop(0));
  delivery.start();
  return { delivery, metrics, page };
}

export const auditTarget = (keys: Keys): AuditTarget => ({
  key: keys.audit,
  retentionMs: 60_000,
  appended: () => {},
});

/** Receivers of tests listen on loopback. */
export const webhookOptions = (keys: Keys): WebhookOptions => ({
  keys,
  audit: auditTarget(keys),
  egress: createEgress({ allow: parseAllowList('*') }),
  secretKeys: [SECRET_KEY],
  endedMs: 60_000,
});

export async function webhookWorld(url: string): Promise<WebhookWorld> {
  const world = await queueWorld(url);
  const { keys, records } = world;
  const hooks = openWebhooks(world.redis, webhookOptions(keys));
  return {
    ...world,
    hooks,
    deliverer: (options) => startDeliverer(url, world, options),
    hooked: (receiver, webhook, tenant = DEFAULT_TENANT) => {
      const events = webhook?.events ?? WEBHOOK_EVENTS;
      return world.submit({
        tenant,
        webhook: { url: receiver, dialect: 'native', signer: tenant, ...webhook, events: [...events] },
        hook_events: events.join(' '),
      });
    },
    run: async (id) => {
      const lease = newLeaseToken(world.worker);
      const error = { code: 'numeric-error', title: 'Bad numbers', detail: 'NaN', retryable: false };
      await records.apply([
        { move: 'start', id, lease, fields: { worker: world.worker } },
        { move: 'fail', id, lease, fields: { error } },
      ]);
    },
    signing: async (owner = DEFAULT_TENANT) => (await hooks.secrets.signing(owner))[0],
  };
}
