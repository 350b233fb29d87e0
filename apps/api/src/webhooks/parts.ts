/** The parts that webhooks need over one connection: the routes and the delivery service each open their own. */
import type { Egress } from '@lehr/shared/egress';
import type { Keys, Redis } from '@lehr/shared/redis';
import type { AuditTarget } from '../access/audit/audit-log.ts';
import { Sender } from './attempts/attempt.ts';
import { Deliveries, PENDING_MS } from './deliveries/deliveries.ts';
import { DeliverySchedule } from './deliveries/delivery-schedule.ts';
import { Outbox } from './deliveries/outbox.ts';
import { withOperator } from './operator-webhook.ts';
import { Receivers } from './receivers/receivers.ts';
import { Sealer } from './secrets/sealer.ts';
import { WebhookSecrets } from './secrets/webhook-secrets.ts';

export interface WebhookParts {
  readonly egress: Egress;
  readonly outbox: Outbox;
  readonly deliveries: Deliveries;
  readonly schedule: DeliverySchedule;
  readonly receivers: Receivers;
  readonly secrets: WebhookSecrets;
  readonly sender: Sender;
}

export interface WebhookOptions {
  readonly keys: Keys;
  readonly egress: Egress;
  /** LEHR_SECRET_KEY. */
  readonly secretKeys: readonly [string, ...string[]];
  /** LEHR_OPERATOR_WEBHOOK_SECRET. */
  readonly operatorSecret?: string | undefined;
  /** Where changes of the secrets are logged. */
  readonly audit: AuditTarget;
  /** How long a delivery that has ended can be read and sent again. */
  readonly endedMs: number;
  /** For one attempt, from the connection to the end of the reply. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 15_000;

export function openWebhooks(redis: Redis, options: WebhookOptions): WebhookParts {
  const { keys, egress, secretKeys, operatorSecret, audit, endedMs } = options;
  const { timeoutMs = TIMEOUT_MS } = options;
  const sealer = new Sealer(secretKeys, 'webhook-secrets');
  const secrets = new WebhookSecrets(redis, keys, sealer, audit);
  return {
    egress,
    outbox: new Outbox(redis, keys),
    deliveries: new Deliveries(redis, keys, { pendingMs: PENDING_MS, endedMs }),
    schedule: new DeliverySchedule(redis, keys),
    receivers: new Receivers(redis, keys),
    secrets,
    sender: new Sender(egress, withOperator(secrets, operatorSecret), timeoutMs),
  };
}
