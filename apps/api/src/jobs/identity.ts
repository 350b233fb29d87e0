/**
 * What makes two requests the same: the key they came with, their route and their body. Every route that makes jobs uses it,
 * so that a request that is sent again finds its job, with an Idempotency-Key or without.
 */
import { hash } from 'node:crypto';
import type { DuplicateRequest, Idempotency } from '@lehr/shared/queue';
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
  readonly idempotency?: Idempotency;
  readonly twin?: DuplicateRequest;
}

interface AskedAgain {
  readonly idempotencyKey?: string | undefined;
  /** See DuplicateRequest. */
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
  if (idempotencyKey === undefined) return { twin: { hash: `${keyId}.${fingerprint}`, ...twin } };
  return { idempotency: { hash: digest(keyId, idempotencyKey), fingerprint } };
}

const digest = (...parts: readonly string[]): string => hash('sha256', parts.join('\n'), 'base64url');

/** JSON with the names of every object in order: two bodies that mean the same are written the same. */
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
