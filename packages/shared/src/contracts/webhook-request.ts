/** The webhook of a job: as a caller requests it, and as the job shows it. */
import { z } from 'zod';

export const WEBHOOK_EVENTS = [
  'job.queued',
  'job.started',
  'job.succeeded',
  'job.failed',
  'job.canceled',
  'job.expired',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** A job has exactly one of these. */
export const END_EVENTS = [
  'job.succeeded',
  'job.failed',
  'job.canceled',
  'job.expired',
] as const satisfies readonly WebhookEvent[];

/** A batch has exactly one of these. */
export const BATCH_EVENTS = ['batch.completed', 'batch.failed', 'batch.expired', 'batch.cancelled'] as const;

export const MAX_WEBHOOK_URL_LENGTH = 2048;

export const WebhookUrlSchema = z.string().min(1).max(MAX_WEBHOOK_URL_LENGTH).meta({
  format: 'uri',
  description: 'An https URL that the public Internet can reach, on port 443, without a user name.',
  example: 'https://app.example/hook',
});

export const WebhookRequestSchema = z
  .strictObject({
    url: WebhookUrlSchema,
    events: z.array(z.enum(WEBHOOK_EVENTS)).min(1).max(WEBHOOK_EVENTS.length).optional().meta({
      description: 'The events to send. Absent: the end of the job, whichever it is.',
    }),
  })
  .meta({ id: 'WebhookRequest' });
export type WebhookRequest = z.output<typeof WebhookRequestSchema>;

/** As shown in the job. */
export const WebhookSchema = z
  .object({ url: z.string(), events: z.array(z.string()) })
  .meta({ id: 'Webhook' });
