import type { AuditEntry, AuditOptions } from '@lehr/client';
import { defineCommand, numberOf } from '../command.ts';
import { EXIT, usageError } from '../exit-codes.ts';
import { tableOf } from '../table.ts';

const MAX_PAGE = 100;
const DEFAULT_LIMIT = 20;

export const audit = defineCommand({
  name: 'audit',
  operands: '',
  count: [0, 0],
  summary: 'List the audit log, newest first. Needs a key with the scope admin.',
  options: {
    tenant: { type: 'string', value: 'NAME', help: 'Only entries about this tenant.' },
    action: { type: 'string', value: 'ACTION', help: 'Only this action, such as key.revoked.' },
    limit: { type: 'string', value: 'N', help: `The largest number of entries. Default: ${DEFAULT_LIMIT}.` },
  },
  run: async ({ values, terminal, json, client }) => {
    const limit = numberOf('limit', values.limit) ?? DEFAULT_LIMIT;
    if (limit < 1 || !Number.isInteger(limit))
      throw usageError(`--limit is ${JSON.stringify(values.limit)}, expected a whole number above 0`);
    const filter = {
      tenant: values.tenant,
      action: values.action as AuditOptions['action'],
      limit: Math.min(limit, MAX_PAGE),
      signal: terminal.signal,
    };
    const entries: AuditEntry[] = [];
    for await (const entry of (await client()).audit(filter)) {
      entries.push(entry);
      if (entries.length === limit) break;
    }
    if (json) terminal.out(`${JSON.stringify(entries)}\n`);
    else terminal.out(entries.length > 0 ? auditTable(entries) : 'No entries.\n');
    return EXIT.ok;
  },
});

const auditTable = (entries: readonly AuditEntry[]): string =>
  tableOf(
    ['TIME', 'ACTION', 'KEY', 'ADDRESS', 'TENANT', 'TARGET', 'CHANGES'],
    entries.map(({ at, action, actor, address, tenant, target, changes }) => [
      at,
      action,
      actor ?? '',
      address ?? '',
      tenant ?? '',
      target ?? '',
      Object.keys(changes).length > 0 ? JSON.stringify(changes) : '',
    ]),
  );
