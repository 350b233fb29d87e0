/** The options that choose jobs, of `lehr jobs` and of the commands that do something to all of them. */
import type { JobActionRequest } from '@lehr/client';
import type { Values } from './command.ts';
import { usageError } from './exit-codes.ts';

export const FILTER_OPTIONS = {
  status: {
    type: 'string',
    value: 'STATUS',
    help: 'scheduled, queued, running, succeeded, failed, canceled or expired.',
  },
  type: {
    type: 'string',
    value: 'TYPE',
    help: 'text-to-image, speech-to-text, speech-to-image, text-embedding, text-classification, fill-mask, token-classification, picture-transform or workflow.',
  },
  model: { type: 'string', short: 'm', value: 'NAME', help: 'Model, or model@version.' },
  code: { type: 'string', value: 'CODE', help: 'That failed with this error code, such as engine-crashed.' },
  metadata: {
    type: 'string',
    multiple: true,
    value: 'NAME=VALUE',
    help: 'A label of the job. May be repeated: then it has all of them.',
  },
  text: {
    type: 'string',
    value: 'TEXT',
    help: 'Words that its prompt, a text of it or its transcript contains.',
  },
  after: {
    type: 'string',
    value: 'TIME',
    help: 'Made at this time or later, such as 2026-11-29T08:00:00Z, or in the last 90s, 30m, 2h or 7d.',
  },
  before: { type: 'string', value: 'TIME', help: 'Made before this time.' },
} as const;

type Filter = JobActionRequest['filter'];

/** Without what is not given. */
export function filterOf(values: Values<typeof FILTER_OPTIONS>): Filter {
  const { status, type, model, code, metadata, text, after, before } = values;
  const filter = {
    ...{ status, type, model, text, error_code: code, metadata: labelsOf(metadata) },
    created_after: timeOf('after', after),
    created_before: timeOf('before', before),
  };
  // The server knows the words.
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)) as Filter;
}

function labelsOf(given: readonly string[] = []): Record<string, string> | undefined {
  if (given.length === 0) return undefined;
  return Object.fromEntries(
    given.map((label) => {
      const at = label.indexOf('=');
      if (at < 1) throw usageError(`--metadata is ${JSON.stringify(label)}, expected NAME=VALUE`);
      return [label.slice(0, at), label.slice(at + 1)];
    }),
  );
}

const MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function timeOf(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const [, count, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const ms =
    count === undefined ? Date.parse(text) : Date.now() - Number(count) * MS[unit as keyof typeof MS];
  if (Number.isFinite(ms)) return new Date(ms).toISOString();
  throw usageError(`--${name} is ${JSON.stringify(text)}, expected a date or a time such as 2h`);
}
