/** Webhooks: what a receiver gets, and what the tenant can read about deliveries. */
import { z } from 'zod';
import { BatchSchema } from './batch.ts';
import { JobSchema } from './job.ts';
import { BATCH_EVENTS, WEBHOOK_EVENTS, WebhookUrlSchema } from './webhook-request.ts';

/** The body of a delivery (Standard Webhooks). */
export const WebhookBodySchema = z
  .object({
    type: z.enum(WEBHOOK_EVENTS),
    timestamp: z.iso.datetime().meta({ description: 'When the event happened, not when it was sent.' }),
    data: JobSchema.extend({
      left_out: z
        .array(z.string())
        .optional()
        .meta({ description: 'Fields that were emptied to keep the body small; `links.self` has them.' }),
    }),
  })
  .meta({ id: 'WebhookBody' });

/** The body of the one delivery of a batch. */
export const BatchWebhookBodySchema = z
  .object({ type: z.enum(BATCH_EVENTS), timestamp: z.iso.datetime(), data: BatchSchema })
  .meta({ id: 'BatchWebhookBody' });

export const DELIVERY_STATES = ['pending', 'delivered', 'failed', 'gone'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export const DeliveryAttemptSchema = z
  .object({
    webhook_id: z.string(),
    event: z.string(),
    at: z.iso.datetime(),
    status: z.int().nullable().meta({ description: 'HTTP status of the answer; null when there was none.' }),
    ms: z.int(),
    answer: z.string().meta({ description: 'The first 1 kB of the body.' }),
    error: z.string().nullable().meta({ description: 'Why there was no answer.' }),
  })
  .meta({ id: 'DeliveryAttempt' });
export type DeliveryAttempt = z.output<typeof DeliveryAttemptSchema>;

export const DeliverySchema = z
  .object({
    webhook_id: z.string().meta({ description: 'The same on every attempt and redelivery.' }),
    event: z.string(),
    url: z.string(),
    state: z.enum(DELIVERY_STATES).meta({
      description:
        '`failed`: every attempt was used; `gone`: the receiver answered 410 and gets no more deliveries.',
    }),
    created_at: z.iso.datetime(),
    attempts: z
      .int()
      .nonnegative()
      .meta({ description: 'Attempts since the delivery was created or sent again.' }),
    next_attempt_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Delivery' });
export type DeliveryView = z.output<typeof DeliverySchema>;

export const DeliveryLogSchema = z
  .object({
    deliveries: z.array(DeliverySchema).meta({ description: 'Oldest first.' }),
    attempts: z.array(DeliveryAttemptSchema).meta({ description: 'Oldest first; the last 100.' }),
  })
  .meta({ id: 'DeliveryLog' });

export const WebhookSecretSchema = z
  .object({
    created_at: z.iso.datetime(),
    expires_at: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When the secret stops signing; null for the current one.' }),
  })
  .meta({ id: 'WebhookSecret' });

export const ShownSecretSchema = z
  .object({ key: z.string().meta({ example: 'whsec_...' }), created_at: z.iso.datetime() })
  .meta({ id: 'ShownWebhookSecret' });

export const WebhookTestResultSchema = DeliveryAttemptSchema.extend({
  delivered: z.boolean().meta({ description: 'The answer was a 2xx.' }),
}).meta({ id: 'WebhookTestResult' });

export const WebhookTestRequestSchema = z
  .strictObject({ url: WebhookUrlSchema })
  .meta({ id: 'WebhookTestRequest' });
