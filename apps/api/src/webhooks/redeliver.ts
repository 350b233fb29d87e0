/** Redelivery, and a delivery as its owner reads it. */
import { type DeliveryView, type JobId, LehrError } from '@lehr/shared';
import type { StoredDelivery } from './deliveries/deliveries.ts';
import { isRepeatable } from './message-id.ts';
import type { WebhookParts } from './parts.ts';

/** Sends the last event of a job again, with its id and bytes unchanged. Throws `conflict` when there is none. */
export async function redeliver(parts: WebhookParts, job: JobId): Promise<StoredDelivery> {
  const { deliveries, receivers } = parts;
  const last = (await deliveries.of(job)).filter(({ event }) => !isRepeatable(event)).at(-1);
  if (!last) throw new LehrError('conflict', 'This job has no webhook event yet.');
  await receivers.reopen(last);
  await deliveries.restart(last);
  return (await deliveries.read(last))?.delivery ?? last;
}

export const presentDelivery = (delivery: StoredDelivery): DeliveryView => ({
  webhook_id: delivery.id,
  event: delivery.event,
  url: delivery.url,
  state: delivery.state,
  created_at: iso(delivery.created_at),
  attempts: delivery.tries,
  next_attempt_at: delivery.state === 'pending' ? iso(delivery.due_at) : null,
});

const iso = (ms: number): string => new Date(ms).toISOString();
