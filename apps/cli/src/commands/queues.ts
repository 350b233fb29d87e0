import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { bytesText, durationText, tableOf } from '../table.ts';

export const queues = defineCommand({
  name: 'queues',
  operands: '',
  count: [0, 0],
  summary:
    'Show the length of each queue, its workers and its expected wait, and how long models take to load.',
  options: {},
  run: async ({ terminal, json, client }) => {
    const list = await (await client()).queues({ signal: terminal.signal });
    if (json) {
      terminal.out(`${JSON.stringify(list)}\n`);
      return EXIT.ok;
    }
    const age = (ms: number | null | undefined): string => (ms == null ? '' : durationText(ms));
    terminal.out(
      tableOf(
        ['QUEUE', 'WAITING', 'RUNNING', 'OLDEST', 'WORKERS', 'WAIT', 'BREAKER'],
        list.data.map(({ name, waiting, running, oldest_age_ms, workers, wait_ms, breaker, paused }) => [
          name,
          `${waiting}`,
          `${running}`,
          age(oldest_age_ms),
          `${workers}`,
          age(wait_ms?.standard),
          paused ? 'paused' : breaker,
        ]),
      ),
    );
    const print = (heads: readonly string[], rows: readonly (readonly string[])[]): void => {
      if (rows.length > 0) terminal.out(`\n${tableOf(heads, rows)}`);
    };
    print(
      ['MODEL', 'WORKERS', 'BREAKER', 'PROBLEM'],
      list.models.map(({ model, workers, breaker, paused, problem }) => [
        model,
        `${workers}`,
        paused ? 'paused' : breaker,
        problem ?? '',
      ]),
    );
    print(
      ['MODEL', 'MEMORY', 'CAN LOAD', 'PULL', 'OPEN', 'WARM-UP', 'FIRST ANSWER'],
      list.models
        .filter(({ load_ms = {} }) => Object.keys(load_ms).length > 0)
        .map(({ model, bytes, can_load, load_ms }) => [
          model,
          bytes == null ? '' : bytesText(bytes),
          `${can_load ?? 0}`,
          age(load_ms.pull),
          age(load_ms.open),
          age(load_ms['warm-up']),
          age(load_ms['first-answer']),
        ]),
    );
    // An older server has no such list.
    print(
      ['PAUSED TENANT'],
      (list.paused_tenants ?? []).map((tenant) => [tenant]),
    );
    print(
      ['QUARANTINED', 'REASON'],
      list.quarantined.map(({ worker, reason }) => [worker, reason]),
    );
    return EXIT.ok;
  },
});
