/**
 * The webhook of operators: LEHR_OPERATOR_WEBHOOK_URL gets every change of a rollout. It is signed, retried and guarded as the webhooks of
 * jobs are; only its secret comes from the configuration, because it is no tenant's.
 */
import type { JobId, RolloutEvent, TenantId } from '@lehr/shared';
import type { Keys } from '@lehr/shared/redis';
import { type NewDelivery, type OpenArguments, openArguments, PENDING_MS } from './deliveries/deliveries.ts';

/** Owns the webhooks of operators. No tenant can have this name. */
export const OPERATOR = '.operator';

/** Finds the secrets that sign a webhook: those of the tenant, or the configured one for the webhooks of operators. */
export interface SigningSecrets {
  signing(owner: TenantId): Promise<string[]>;
}

/** `operator` is LEHR_OPERATOR_WEBHOOK_SECRET. Its webhooks stay pending while the process that delivers has none. */
export const withOperator = (tenants: SigningSecrets, operator: string | undefined): SigningSecrets => ({
  signing: async (owner) => {
    if (owner !== OPERATOR) return tenants.signing(owner);
    if (operator !== undefined) return [operator];
    throw new Error('LEHR_OPERATOR_WEBHOOK_SECRET is not set in this process, which delivers webhooks');
  },
});

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
    signer: OPERATOR as TenantId,
    body: JSON.stringify({ type: ref.event, timestamp: at, data: { model, ...data } }),
    retried: '1',
  };
  return openArguments(keys, { ...ref, id: `msg_${name}` }, delivery, PENDING_MS);
}
