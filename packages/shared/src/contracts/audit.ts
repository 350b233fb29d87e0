/** The audit log: who changed what of the installation. Secrets are never part of it. */
import { z } from 'zod';

export const AUDIT_ACTIONS = [
  'key.created',
  'key.changed',
  'key.revoked',
  'webhook-secret.created',
  'webhook-secret.shown',
  'webhook-secret.rotated',
  'admin.refused',
  'session.created',
  'session.ended',
  'session.refused',
  'rollout.deployed',
  'rollout.changed',
  'rollout.paused',
  'rollout.resumed',
  'rollout.promoted',
  'rollout.rolled-back',
  'rollout.removed',
  'pause.set',
  'pause.ended',
  'jobs.action-started',
  'jobs.action-ended',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** What an entry says apart from its id and time, as it is stored. */
export const AuditFactsSchema = z.object({
  action: z.enum(AUDIT_ACTIONS).meta({ example: 'key.changed' }),
  actor: z.string().nullable().meta({
    description:
      'The id of the key that made the request; `root` is the configured key, and `lehr` what Lehr decided about a rollout. Null: a request without a known key, or Lehr itself.',
    example: 'root',
  }),
  tenant: z.string().nullable().meta({
    description: 'The tenant that the action is about; null when it is about none.',
    example: 'acme',
  }),
  target: z.string().nullable().meta({
    description:
      'The id of the key that was created, changed or revoked, or that a session is of; the model of a rollout, what was paused, or the id of a bulk action.',
    example: '4fZk09Qa',
  }),
  address: z.string().nullable().meta({
    description: 'The IP address that the request came from, as the API saw it.',
    example: '10.0.0.7',
  }),
  changes: z.record(z.string(), z.unknown()).meta({
    description:
      'Fields with their new values; of `admin.refused` and `session.refused`, the count of refused requests.',
    example: { limits: { max_jobs: 500 } },
  }),
});
export type AuditFacts = z.output<typeof AuditFactsSchema>;

export const AuditEntrySchema = AuditFactsSchema.extend({
  id: z.string().meta({ description: 'Rises with time.', example: '1790000000000-0' }),
  object: z.literal('audit_entry'),
  at: z.iso.datetime(),
}).meta({ id: 'AuditEntry' });
export type AuditEntry = z.output<typeof AuditEntrySchema>;

export const AuditListSchema = z
  .object({
    object: z.literal('list'),
    data: z.array(AuditEntrySchema),
    next_cursor: z.string().nullable(),
    has_more: z.boolean(),
  })
  .meta({ id: 'AuditList' });
