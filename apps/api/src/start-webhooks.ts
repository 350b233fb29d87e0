/** Starts the role `webhooks`. */
import { homeSecret } from '@lehr/shared';
import { type Keys, openRedis, redisAddress, redisReady } from '@lehr/shared/redis';
import type { AuditTarget } from './access/audit/audit-log.ts';
import { type ApiConfig, egressOf } from './base/env.ts';
import { nativeRenderer } from './dialects/native/native-renderer.ts';
import { replicateRenderer } from './dialects/replicate/predictions-view.ts';
import type { ApiParts } from './parts.ts';
import { openWebhooks, type WebhookOptions } from './webhooks/parts.ts';
import { WebhookService } from './webhooks/webhook-service.ts';

const HOUR_MS = 3_600_000;

export async function webhookOptions(
  config: ApiConfig,
  keys: Keys,
  audit: AuditTarget,
): Promise<WebhookOptions> {
  return {
    keys,
    audit,
    egress: egressOf(config),
    secretKeys: config.LEHR_SECRET_KEY ?? [(await homeSecret(config.LEHR_HOME, 'secret-key')).value],
    operatorSecret: config.LEHR_OPERATOR_WEBHOOK_SECRET,
    endedMs: Math.round(config.LEHR_RECORD_TTL_H * HOUR_MS),
  };
}

export interface RunningWebhooks {
  /** Lets running attempts finish for `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/** Opens its own connection: it waits through an outage of Redis, while that of the routes fails fast. */
export async function startWebhooks(config: ApiConfig, parts: ApiParts): Promise<RunningWebhooks> {
  const commands = openRedis(redisAddress(config), 'worker', 'webhooks');
  try {
    await redisReady(commands);
    const service = new WebhookService({
      ...parts,
      ...openWebhooks(commands, await webhookOptions(config, parts.keys, parts.audit)),
      renderers: { native: nativeRenderer(parts.presenter), replicate: replicateRenderer(parts) },
    });
    service.start();
    return { stop: (graceMs) => service.stop(graceMs).finally(() => commands.disconnect()) };
  } catch (error) {
    commands.disconnect();
    throw error;
  }
}
