import type { JobRequest } from '../wire.ts';
import { numberOf, type Options, type Values } from './command.ts';
import { usageError } from './exit-codes.ts';

/** What every kind of job may be asked with. */
export const REQUEST_OPTIONS = {
  model: { type: 'string', short: 'm', value: 'NAME', help: 'Model, or model@version. Else the default.' },
  priority: { type: 'string', value: 'CLASS', help: 'interactive, standard or bulk.' },
  deadline: { type: 'string', value: 'SECONDS', help: 'After which the result is worth nothing.' },
  webhook: { type: 'string', value: 'URL', help: 'Whom to tell of the end.' },
  metadata: { type: 'string', multiple: true, value: 'NAME=VALUE', help: 'Your own label; may be repeated.' },
  'idempotency-key': { type: 'string', value: 'TEXT', help: 'Said again, it gets the same job.' },
  timeout: { type: 'string', value: 'SECONDS', help: 'How long to wait at most; the job goes on.' },
} as const satisfies Options;

/** The fields that every kind of request has. */
export function requestFields(values: Values<typeof REQUEST_OPTIONS>) {
  const { model, priority, deadline, webhook, metadata } = values;
  return {
    model,
    // What it may be is the server's to say, so that an older client takes what a newer server knows.
    priority: priority as JobRequest['priority'],
    deadline_s: numberOf('deadline', deadline),
    ...(webhook !== undefined && { webhook: { url: webhook } }),
    ...(metadata && { metadata: Object.fromEntries(metadata.map(labelOf)) }),
  };
}

function labelOf(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  if (at < 1) throw usageError(`--metadata is ${JSON.stringify(text)}, wanted NAME=VALUE`);
  return [text.slice(0, at), text.slice(at + 1)];
}
