/** Webhooks as the configuration wants them. */
import { homeSecret } from '@lehr/shared';
import { createEgress, type Egress, parseAllowList } from '@lehr/shared/egress';
import { type Keys, openRedis, redisReady } from '@lehr/shared/redis';
import type { ApiParts } from '../api.ts';
import { nativeRenderer } from '../dialects/native/native-renderer.ts';
import { replicateRenderer } from '../dialects/replicate/replicate-renderer.ts';
import type { ApiConfig } from '../env.ts';
import { openWebhooks, type WebhookSettings } from './parts.ts';
import { WebhookService } from './webhook-service.ts';

const HOUR_MS = 3_600_000;

export async function webhookSettings(config: ApiConfig, keys: Keys): Promise<WebhookSettings> {
  return {
    keys,
    egress: egressOf(config),
    secretKey: config.LEHR_SECRET_KEY ?? (await homeSecret(config.LEHR_HOME, 'secret-key')).value,
    endedMs: config.LEHR_RECORD_TTL_H * HOUR_MS,
  };
}

/** For every address that callers choose. */
export const egressOf = (config: ApiConfig): Egress =>
  createEgress({
    allow: parseAllowList(config.LEHR_EGRESS_ALLOW ?? ''),
    allowPrivate: config.LEHR_WEBHOOK_ALLOW_PRIVATE,
  });

export interface RunningDelivery {
  /** Attempts under way may finish for `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Starts the role `webhooks`, over connections of its own: they wait through an outage of Redis, where those of the routes fail fast.
 */
export async function startDelivery(config: ApiConfig, parts: ApiParts): Promise<RunningDelivery> {
  const commands = openRedis(config.LEHR_REDIS_URL, 'worker', 'webhooks');
  const blocking = openRedis(config.LEHR_REDIS_URL, 'blocking', 'webhooks-blocking');
  const disconnect = (): void => {
    commands.disconnect();
    blocking.disconnect();
  };
  try {
    await Promise.all([redisReady(commands), redisReady(blocking)]);
    const delivery = new WebhookService({
      ...parts,
      ...openWebhooks(commands, await webhookSettings(config, parts.keys)),
      blocking,
      renderers: { native: nativeRenderer(parts.presenter), replicate: replicateRenderer(parts) },
    });
    delivery.start();
    return { stop: (graceMs) => delivery.stop(graceMs).finally(disconnect) };
  } catch (error) {
    disconnect();
    throw error;
  }
}
