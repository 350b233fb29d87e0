/** Request headers that several dialects share. */
import { z } from '@hono/zod-openapi';
import { DURABILITIES, type Durability, LehrError } from '@lehr/shared';

/** For the headers of every route that makes jobs. */
export const IDEMPOTENCY_HEADER = {
  'idempotency-key': z.string().min(1).max(255).optional().meta({
    description:
      'Of your choice, new for every job: the same request sent again with it within 24 hours gets the same job.',
  }),
};

/** The same on routes whose headers have no schema. Throws `invalid-request`. */
export function idempotencyKeyOf(value: string | undefined): string | undefined {
  if (value === undefined || IDEMPOTENCY_HEADER['idempotency-key'].safeParse(value).success) return value;
  throw new LehrError('invalid-request', 'The header idempotency-key must have 1 to 255 characters.');
}

export const DURABILITY = 'lehr-durability';
/** For the headers of routes of text tasks whose bodies are those of another API. */
export const DURABILITY_HEADER = {
  [DURABILITY]: z
    .enum(DURABILITIES)
    .optional()
    .meta({
      description:
        '`none`: a small request may run without being stored, as `durability` of `POST /v1/jobs` says. An answer with this header had no ' +
        'record.',
    }),
};

/** `none` or nothing, on routes whose headers have no schema. Throws `invalid-input`. */
export function durabilityOf(value: string | undefined): Durability | undefined {
  if (value === undefined) return undefined;
  const known = DURABILITIES.find((each) => each === value);
  if (known) return known;
  throw new LehrError(
    'invalid-input',
    `The header ${DURABILITY} must be one of: ${DURABILITIES.join(', ')}.`,
  );
}

/** The longest wait that a request may have. */
export const MAX_WAIT_S = 60;

/** `Prefer: wait=10`; `wait` alone stands for the longest wait (RFC 7240). Undefined without a wait. */
export function preferredWaitS(prefer: string | undefined): number | undefined {
  for (const preference of prefer?.split(/[,;]/) ?? []) {
    const [, seconds] = /^\s*wait\s*(?:=\s*"?(\d{1,9})"?\s*)?$/i.exec(preference) ?? [null, null];
    if (seconds === null) continue;
    return seconds === undefined ? MAX_WAIT_S : Math.min(Math.max(Number(seconds), 1), MAX_WAIT_S);
  }
  return undefined;
}
