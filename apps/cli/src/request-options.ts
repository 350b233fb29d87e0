import type { JobRequest } from '@lehr/client';
import { numberOf, type Options, type Values } from './command.ts';
import { usageError } from './exit-codes.ts';

/** The options of every command that creates a job. */
export const REQUEST_OPTIONS = {
  model: {
    type: 'string',
    short: 'm',
    value: 'NAME',
    help: 'Model, or model@version. Default: the default model.',
  },
  priority: { type: 'string', value: 'CLASS', help: 'interactive, standard or bulk. Default: standard.' },
  deadline: { type: 'string', value: 'SECONDS', help: 'The job expires when it has not ended by then.' },
  webhook: { type: 'string', value: 'URL', help: 'URL that Lehr calls when the job has ended.' },
  metadata: {
    type: 'string',
    multiple: true,
    value: 'NAME=VALUE',
    help: 'A label of your own. Can be repeated.',
  },
  'idempotency-key': { type: 'string', value: 'TEXT', help: 'The same key and request return the same job.' },
  timeout: { type: 'string', value: 'SECONDS', help: 'The longest wait. The job continues after it.' },
} as const satisfies Options;

/** The request fields of these options. */
export function requestFields(values: Values<typeof REQUEST_OPTIONS>) {
  const { model, priority, deadline, webhook, metadata } = values;
  return {
    model,
    // The server validates it, so that an older client accepts the values of a newer server.
    priority: priority as JobRequest['priority'],
    deadline_s: numberOf('deadline', deadline),
    ...(webhook !== undefined && { webhook: { url: webhook } }),
    ...(metadata && { metadata: Object.fromEntries(metadata.map(labelOf)) }),
  };
}

function labelOf(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  if (at < 1) throw usageError(`--metadata is ${JSON.stringify(text)}, expected NAME=VALUE`);
  return [text.slice(0, at), text.slice(at + 1)];
}
