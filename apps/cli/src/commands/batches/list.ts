/** `lehr batches`: lists batches, and cancels or repeats given ones. */
import type { Batch } from '@lehr/client';
import { defineCommand } from '../../command.ts';
import { EXIT, usageError } from '../../exit-codes.ts';
import { tableOf } from '../../table.ts';

export const listBatches = defineCommand({
  name: 'batches',
  operands: '[BATCH...]',
  count: [0, Number.POSITIVE_INFINITY],
  summary: 'List your newest batches, or show, cancel or repeat the given ones.',
  options: {
    cancel: { type: 'boolean', help: 'Make no more jobs of them, and cancel those that have not ended.' },
    retry: { type: 'boolean', help: 'Make new batches of what did not succeed.' },
  },
  run: async ({ values: { cancel, retry }, positionals, terminal, json, client }) => {
    if ((cancel || retry) && positionals.length === 0) throw usageError('--cancel and --retry need BATCH...');
    if (cancel && retry) throw usageError('give one of --cancel and --retry');
    const { batches } = await client();
    const { signal } = terminal;
    const act = cancel ? batches.cancel : retry ? batches.retry : batches.get;
    const shown: Batch[] = [];
    for (const id of positionals) shown.push(await act(id, { signal }));
    if (positionals.length === 0) shown.push(...(await batches.list({ signal })).data);
    if (json) terminal.out(`${JSON.stringify(shown)}\n`);
    else terminal.out(shown.length > 0 ? batchesTable(shown) : 'No batches.\n');
    return EXIT.ok;
  },
});

const batchesTable = (batches: readonly Batch[]): string =>
  tableOf(
    ['BATCH', 'STATUS', 'JOBS', 'DONE', 'FAILED', 'CREATED'],
    batches.map(({ id, status, request_counts: { total, completed, failed }, created_at }) => [
      id,
      status,
      `${total}`,
      `${completed}`,
      `${failed}`,
      new Date(created_at * 1000).toISOString(),
    ]),
  );
