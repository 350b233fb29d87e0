/** What webhooks are made of, over one connection: routes and delivery each have their own. */
import type { Egress } from '@lehr/shared/egress';
import { DeliveryQueue } from '@lehr/shared/queue';
import type { Keys, Redis } from '@lehr/shared/redis';
import { Deliveries } from './deliveries.ts';
import { Receivers } from './receivers.ts';
import { Sealer } from './seal.ts';
import { WebhookSecrets } from './secrets.ts';
import { Sender } from './sender.ts';

export interface WebhookParts {
  readonly egress: Egress;
  readonly deliveries: Deliveries;
  readonly receivers: Receivers;
  readonly secrets: WebhookSecrets;
  readonly sender: Sender;
  readonly queue: DeliveryQueue;
}

export interface WebhookOptions {
  readonly keys: Keys;
  readonly egress: Egress;
  /** LEHR_SECRET_KEY. */
  readonly secretKey: string;
  /** How long a delivery with an end can be looked at and sent again. */
  readonly endedMs: number;
  /** A receiver has so long for everything. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 15_000;
/** Longer than the longest gap between two attempts, whatever a receiver asks for. */
const PENDING_MS = 7 * 24 * 3_600_000;

export function openWebhooks(redis: Redis, options: WebhookOptions): WebhookParts {
  const { keys, egress, secretKey, endedMs, timeoutMs = TIMEOUT_MS } = options;
  const secrets = new WebhookSecrets(redis, keys, new Sealer(secretKey, 'webhook-secrets'));
  return {
    egress,
    secrets,
    deliveries: new Deliveries(redis, keys, { pendingMs: PENDING_MS, endedMs }),
    receivers: new Receivers(redis, keys),
    sender: new Sender(egress, secrets, timeoutMs),
    queue: new DeliveryQueue(redis, keys),
  };
}
