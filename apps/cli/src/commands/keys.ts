import type { Key, KeyRequest } from '@lehr/client';
import { defineCommand, numberOf } from '../command.ts';
import { EXIT, usageError } from '../exit-codes.ts';
import { plain, tableOf } from '../table.ts';

export const createKey = defineCommand({
  name: 'keys create',
  operands: 'TENANT',
  count: [1, 1],
  summary: 'Create a key and show it once. Needs a key with the scope admin.',
  notes: ['Standard output is the key alone: lehr keys create acme > key.txt'],
  options: {
    name: { type: 'string', value: 'TEXT', help: 'A name for people.' },
    env: { type: 'string', value: 'WORD', help: 'A word inside the key. Default: live.' },
    scopes: {
      type: 'string',
      value: 'A,B',
      help: 'Of submit, read, cancel, admin. Default: submit,read,cancel.',
    },
    expires: { type: 'string', value: 'DATE', help: 'When the key expires, such as 2027-01-31.' },
    'max-jobs': { type: 'string', value: 'N', help: "The tenant's jobs that wait or run." },
    'cost-per-minute': {
      type: 'string',
      value: 'SECONDS',
      help: 'Estimated engine time that the key may use per minute.',
    },
    'max-priority': {
      type: 'string',
      value: 'CLASS',
      help: 'The most urgent class of its jobs: interactive, standard or bulk. Default: interactive.',
    },
    weight: {
      type: 'string',
      value: 'N',
      help: "The tenant's share of the engine, against other tenants. Default: 1.",
    },
  },
  run: async ({ values, positionals: [tenant], terminal, json, client }) => {
    const key = await (await client()).keys.create(
      {
        tenant,
        name: values.name,
        env: values.env,
        scopes: values.scopes?.split(',') as KeyRequest['scopes'],
        expires_at: dateOf(values.expires),
        limits: {
          max_jobs: numberOf('max-jobs', values['max-jobs']),
          cost_per_minute_s: numberOf('cost-per-minute', values['cost-per-minute']),
          max_priority: values['max-priority'] as NonNullable<KeyRequest['limits']>['max_priority'],
          weight: numberOf('weight', values.weight),
        },
      },
      { signal: terminal.signal },
    );
    if (json) terminal.out(`${JSON.stringify(key)}\n`);
    else {
      terminal.out(`${key.key}\n`);
      terminal.err(
        `${key.id} of ${key.tenant} may ${key.scopes.join(', ')}. The key is shown only once: save it.\n`,
      );
    }
    return EXIT.ok;
  },
});

export const listKeys = defineCommand({
  name: 'keys list',
  operands: '',
  count: [0, 0],
  summary: 'List the keys of all tenants, without the secrets.',
  options: {},
  run: async ({ terminal, json, client }) => {
    const keys = await (await client()).keys.list({ signal: terminal.signal });
    if (json) terminal.out(`${JSON.stringify(keys)}\n`);
    else terminal.out(keys.length > 0 ? keysTable(keys) : 'No keys except the configured one.\n');
    const unusable = keys.filter(({ usable }) => !usable).map(({ id }) => plain(id));
    if (unusable.length > 0) {
      terminal.err(
        `The API refuses ${unusable.join(', ')}: it does not have the pepper they were made with. Revoke them (lehr keys revoke).\n`,
      );
    }
    return EXIT.ok;
  },
});

export const revokeKeys = defineCommand({
  name: 'keys revoke',
  operands: 'ID...',
  count: [1, Number.POSITIVE_INFINITY],
  summary: 'Revoke keys. Every API process refuses them within a second; their jobs continue.',
  options: {},
  run: async ({ positionals, terminal, json, client }) => {
    const { keys } = await client();
    for (const id of positionals) {
      await keys.revoke(id, { signal: terminal.signal });
      if (!json) terminal.out(`${plain(id)} is revoked\n`);
    }
    if (json) terminal.out(`${JSON.stringify({ revoked: positionals })}\n`);
    return EXIT.ok;
  },
});

const keysTable = (keys: readonly Key[]): string =>
  tableOf(
    ['ID', 'TENANT', 'NAME', 'SCOPES', 'MOST URGENT', 'STORED MB', 'EXPIRES', 'LAST USED'],
    keys.map(({ id, tenant, name, scopes, limits, usage, expires_at, last_used_at }) => [
      id,
      tenant,
      name,
      scopes.join(','),
      limits.max_priority,
      storedOf(usage, limits),
      expires_at ?? 'never',
      last_used_at ?? 'never',
    ]),
  );

const storedOf = ({ stored_mb }: Key['usage'], { max_stored_mb }: Key['limits']): string =>
  max_stored_mb === null ? `${stored_mb}` : `${stored_mb} of ${max_stored_mb}`;

function dateOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms))
    throw usageError(`--expires is ${JSON.stringify(text)}, expected a date such as 2027-01-31`);
  return new Date(ms).toISOString();
}
