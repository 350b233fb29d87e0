/**
 * The webhook of operators: LEHR_OPERATOR_WEBHOOK_URL gets every change of a rollout. It is signed, retried and guarded as the webhooks of
 * jobs are; only its secret comes from the configuration, because it is no tenant's.
 */
import type { JobId, RolloutEvent, TenantId } from '@lehr/shared';
import type { Keys } from '@lehr/shared/redis';
import { type NewDelivery, type OpenArguments, openArguments } from './deliveries/deliveries.ts';
import { PENDING_MS } from './parts.ts';
import { OPERATOR } from './secrets/operator-secret.ts';

/** `rev` numbers the changes of a rollout, so that each has its own webhook id, the same for every attempt. */
export function rolloutDelivery(
  keys: Keys,
  url: string,
  { model, rev, event }: { readonly model: string; readonly rev: number; readonly event: RolloutEvent },
): OpenArguments {
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
  return openArguments(keys, { ...ref, id: `msg_${name}` }, delivery, PENDING_MS);
}
