/** A program that only delivers webhooks, for tests that kill it; its settings are JSON in the first argument. */
import { Channels } from '../../apps/api/src/follow/channels.ts';
import { openWebhooks } from '../../apps/api/src/webhooks/parts.ts';
import { WebhookService, type WebhookServiceTimes } from '../../apps/api/src/webhooks/webhook-service.ts';
import { createEgress, parseAllowList } from '../../packages/shared/src/egress/index.ts';
import { createLog, createMetrics, systemClock } from '../../packages/shared/src/index.ts';
import { RecordStore } from '../../packages/shared/src/records/index.ts';
import { keysOf, openRedis, redisReady } from '../../packages/shared/src/redis/index.ts';

export interface WebhookDelivererSettings {
  readonly redisUrl: string;
  readonly namespace: string;
  readonly secretKey: string;
  readonly times: Partial<WebhookServiceTimes>;
}

const settings = JSON.parse(process.argv[2]) as WebhookDelivererSettings;
const log = createLog('webhooks', 'debug');
const keys = keysOf(settings.namespace);
const redis = openRedis(settings.redisUrl, 'worker');
await redisReady(redis);
const delivery = new WebhookService({
  ...openWebhooks(redis, {
    keys,
    audit: { key: keys.audit, retentionMs: 60_000, appended: () => {} },
    egress: createEgress({ allow: parseAllowList('*') }),
    secretKeys: [settings.secretKey],
    endedMs: 60_000,
  }),
  channels: new Channels(openRedis(settings.redisUrl, 'subscriber')),
  keys,
  records: new RecordStore(redis, keys, { retentionMs: 60_000 }),
  renderers: {
    native: {
      render: async (record, event) => ({ type: event, data: { id: record.id, status: record.state } }),
      retries: () => true,
    },
  },
  clock: systemClock,
  metrics: createMetrics('api').metrics,
  log,
  times: settings.times,
});
delivery.start();
log.info({}, 'delivers');
