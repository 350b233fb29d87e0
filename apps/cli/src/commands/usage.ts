import type { Usage } from '@lehr/client';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { durationText, tableOf } from '../table.ts';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;

export const usage = defineCommand({
  name: 'usage',
  operands: '',
  count: [0, 0],
  summary:
    'Show ended jobs, device time and prices of a range of days: of your tenant; with a key with the scope admin, of all.',
  options: {
    from: {
      type: 'string',
      value: 'DAY',
      help: `The first day, in UTC. Default: the last ${DEFAULT_DAYS} days.`,
    },
    to: { type: 'string', value: 'DAY', help: 'The last day. Default: today.' },
    by: {
      type: 'string',
      value: 'PARTS',
      help: 'By what it is summed up: some of day,tenant,key,model. Default: day.',
    },
    tenant: { type: 'string', value: 'NAME', help: 'Only this tenant.' },
    key: { type: 'string', value: 'ID', help: 'Only jobs of this API key.' },
    model: { type: 'string', value: 'NAME', help: 'Only this model, or NAME@VERSION.' },
    csv: { type: 'boolean', help: 'Print a table for spreadsheets.' },
  },
  run: async ({ values, terminal, json, client }) => {
    const { to, tenant, key, model, csv } = values;
    const end = to === undefined ? Date.now() : Date.parse(to);
    const asked = {
      ...{ to, tenant, key, model },
      by: values.by ?? 'day',
      // What is no day is refused by the server, which names the option.
      from: values.from ?? (Number.isNaN(end) ? undefined : dateOf(end - (DEFAULT_DAYS - 1) * DAY_MS)),
      signal: terminal.signal,
    };
    const lehr = await client();
    if (csv && !json) terminal.out(await lehr.usageCsv(asked));
    else {
      const found = await lehr.usage(asked);
      terminal.out(json ? `${JSON.stringify(found)}\n` : usageTable(found));
    }
    return EXIT.ok;
  },
});

const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

function usageTable({ by, rows, total, currency }: Usage): string {
  const hasPrice = total.price !== undefined;
  const heads = [...by, 'jobs', 'succeeded', 'failed', 'canceled', 'expired', 'device'].map((name) =>
    name.toUpperCase(),
  );
  const counts = ({ price = 0, device_s, ...row }: Usage['total']): string[] => [
    ...[row.jobs, row.succeeded, row.failed, row.canceled, row.expired].map(String),
    durationText(device_s * 1000),
    ...(hasPrice ? [price.toFixed(2)] : []),
  ];
  const sum = by.map((_, i) => (i === 0 ? 'all' : ''));
  return tableOf(
    [...heads, ...(hasPrice ? [currency ?? 'PRICE'] : [])],
    [
      ...rows.map((row) => [...by.map((part) => row[part] ?? '-'), ...counts(row)]),
      [...sum, ...counts(total)],
    ],
  );
}
