/**
 * What makes two requests the same: the key they came with, their route and their body. Every route that makes jobs uses it,
 * so that a request that is sent again finds its job, with an Idempotency-Key or without.
 */
import { createHash } from 'node:crypto';
import type { Applicant, Twin } from '@lehr/shared/queue';
import { z } from 'zod';
import type { Caller } from '../auth/authenticator.ts';

/** For the headers of a route that makes jobs. */
export const IDEMPOTENCY_HEADER = {
  'idempotency-key': z.string().min(1).max(255).optional().meta({
    description:
      'Of your choice, new for every job: the same request sent again with it within 24 hours gets the same job.',
  }),
};

/** Either of the two, never both. */
export interface RequestIdentity {
  readonly idempotency?: NonNullable<Applicant['idempotency']>;
  readonly twin?: Twin;
}

interface AskedAgain {
  readonly idempotencyKey?: string | undefined;
  /** See Twin. */
  readonly isRetry?: boolean;
  readonly maxHeld?: number;
}

/** `route` as in the OpenAPI document, with its method; `body` as parsed (of an upload: its fields and a digest of the file). */
export function identify(
  { keyId }: Caller,
  route: string,
  body: unknown,
  { idempotencyKey, ...twin }: AskedAgain,
): RequestIdentity {
  const fingerprint = digest(route, canonical(body));
  if (idempotencyKey === undefined) return { twin: { hash: digest(keyId, fingerprint), ...twin } };
  return { idempotency: { hash: digest(keyId, idempotencyKey), fingerprint } };
}

const digest = (...parts: readonly string[]): string =>
  createHash('sha256').update(parts.join('\n')).digest('base64url');

/** JSON with the names of every object in order: two bodies that mean the same are written the same. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}
