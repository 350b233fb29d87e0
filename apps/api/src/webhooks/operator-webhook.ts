/**
 * The webhook of operators: LEHR_OPERATOR_WEBHOOK_URL gets every change of a rollout. It is signed, retried and guarded as the webhooks of
 * jobs are; only its secret comes from the configuration, because it is no tenant's.
 */
import type { JobId, RolloutEvent, TenantId } from '@lehr/shared';
import type { Keys } from '@lehr/shared/redis';
import type { NewDelivery } from './deliveries/deliveries.ts';
import { entryOf } from './deliveries/event-ref.ts';
import { PENDING_MS } from './parts.ts';
import { OPERATOR } from './secrets/operator-secret.ts';

/** The keys and arguments of `open_delivery`, without its fields' own list. */
export interface OperatorDelivery {
  readonly keys: readonly [delivery: string, undelivered: string];
  readonly args: readonly (string | number)[];
}

/** `rev` numbers the changes of a rollout, so that each has its own webhook id, the same for every attempt. */
export function rolloutDelivery(
  keys: Keys,
  url: string,
  { model, rev, event }: { readonly model: string; readonly rev: number; readonly event: RolloutEvent },
): OperatorDelivery {
  const name = `${event.rollout}_${rev}`;
  const ref = { job: name as JobId, event: `rollout.${event.action}` };
  const { at, ...data } = event;
  const delivery: NewDelivery = {
    tenant: OPERATOR as TenantId,
    url,
    secret: OPERATOR as TenantId,
    body: JSON.stringify({ type: ref.event, timestamp: at, data: { model, ...data } }),
    retried: '1',
  };
  return {
    keys: [keys.delivery(ref.job, ref.event), keys.undelivered],
    args: [entryOf(ref), `msg_${name}`, PENDING_MS, ...Object.entries(delivery).flat()],
  };
}
