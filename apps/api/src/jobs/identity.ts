/**
 * What makes two requests duplicates: the same route and body, with the same Idempotency-Key of the tenant, or without one the same API
 * key. Every route that makes jobs uses it, so a retry finds its job.
 */
import { hash } from 'node:crypto';
import type { DuplicateRequest, Idempotency } from '@lehr/shared/queue';
import type { Caller } from '../access/auth/authenticator.ts';
import { idempotencyHash } from '../access/quotas.ts';

/** Exactly one of the two. */
export interface RequestIdentity {
  readonly idempotency?: Idempotency;
  readonly duplicate?: DuplicateRequest;
}

interface Repeat {
  readonly idempotencyKey?: string | undefined;
  /** See DuplicateRequest. */
  readonly isRetry?: boolean;
  readonly maxHeld?: number;
}

/** `route` and `body` as in JobCall. */
export function identify(
  { keyId, tenant }: Caller,
  route: string,
  body: unknown,
  { idempotencyKey, ...repeat }: Repeat,
): RequestIdentity {
  const fingerprint = digest(route, canonical(body));
  if (idempotencyKey === undefined) return { duplicate: { hash: `${keyId}.${fingerprint}`, ...repeat } };
  return { idempotency: { hash: idempotencyHash(tenant, idempotencyKey), fingerprint } };
}

const digest = (...parts: readonly string[]): string => hash('sha256', parts.join('\n'), 'base64url');

/** JSON with the names of every object sorted, so that equal bodies have equal text. */
export function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const fields = value as Readonly<Record<string, unknown>>;
  let text = '';
  for (const name of Object.keys(fields).sort()) {
    if (fields[name] !== undefined) text += `,${JSON.stringify(name)}:${canonical(fields[name])}`;
  }
  return `{${text.slice(1)}}`;
}
