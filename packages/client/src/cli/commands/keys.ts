import type { Key, KeyRequest } from '../../wire.ts';
import { defineCommand, numberOf } from '../command.ts';
import { EXIT, usageError } from '../exit-codes.ts';
import { plain, tableOf } from '../table.ts';

export const createKey = defineCommand({
  name: 'keys create',
  operands: 'TENANT',
  count: [1, 1],
  summary: 'Make a key. It is shown this once. Needs a key with the right admin.',
  notes: ['In a pipe it writes the key alone: lehr keys create acme > key.txt'],
  options: {
    name: { type: 'string', value: 'TEXT', help: 'For people.' },
    env: { type: 'string', value: 'WORD', help: 'Stands in the key; live unless said otherwise.' },
    scopes: {
      type: 'string',
      value: 'A,B',
      help: 'Of submit, read, cancel, admin; the first three unless said.',
    },
    expires: { type: 'string', value: 'DATE', help: 'When it stops working, such as 2027-01-31.' },
    'max-jobs': { type: 'string', value: 'N', help: "The tenant's jobs without an end." },
    'cost-per-minute': { type: 'string', value: 'SECONDS', help: 'Estimated engine seconds per minute.' },
    weight: { type: 'string', value: 'N', help: "The tenant's share against others." },
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
          weight: numberOf('weight', values.weight),
        },
      },
      { signal: terminal.signal },
    );
    if (json) terminal.out(`${JSON.stringify(key)}\n`);
    else {
      terminal.out(`${key.key}\n`);
      terminal.err(
        `${key.id} of ${key.tenant} may ${key.scopes.join(', ')}. The key is shown this once: keep it.\n`,
      );
    }
    return EXIT.ok;
  },
});

export const listKeys = defineCommand({
  name: 'keys list',
  operands: '',
  count: [0, 0],
  summary: 'List the keys of all tenants, without their secrets.',
  options: {},
  run: async ({ terminal, json, client }) => {
    const keys = await (await client()).keys.list({ signal: terminal.signal });
    if (json) terminal.out(`${JSON.stringify(keys)}\n`);
    else terminal.out(keys.length > 0 ? keysTable(keys) : 'No keys but the configured one.\n');
    return EXIT.ok;
  },
});

export const revokeKeys = defineCommand({
  name: 'keys revoke',
  operands: 'ID...',
  count: [1, Number.POSITIVE_INFINITY],
  summary: 'Revoke keys. They work nowhere a second later; jobs made with them go on.',
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
    ['ID', 'TENANT', 'NAME', 'SCOPES', 'EXPIRES', 'LAST USED'],
    keys.map(({ id, tenant, name, scopes, expires_at, last_used_at }) => [
      id,
      tenant,
      name,
      scopes.join(','),
      expires_at ?? 'never',
      last_used_at ?? 'never',
    ]),
  );

function dateOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms))
    throw usageError(`--expires is ${JSON.stringify(text)}, wanted a date such as 2027-01-31`);
  return new Date(ms).toISOString();
}
