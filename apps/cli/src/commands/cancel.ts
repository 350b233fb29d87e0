import { isOver, type Job } from '@lehr/client';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { stateText } from '../job-text.ts';

export const cancel = defineCommand({
  name: 'cancel',
  operands: 'JOB...',
  count: [1, Number.POSITIVE_INFINITY],
  summary: 'Cancel jobs. A running job ends at its next step; a job that has ended does not change.',
  options: { wait: { type: 'boolean', short: 'w', help: 'Wait until the jobs have ended.' } },
  run: async ({ values, positionals, terminal, json, client }) => {
    const lehr = await client();
    const { signal } = terminal;
    const canceled: Job[] = [];
    for (const id of positionals) canceled.push(await lehr.cancel(id, { signal }));
    const shown = values.wait
      ? await Promise.all(canceled.map((job) => (isOver(job) ? job : lehr.wait(job.id, { signal }))))
      : canceled;
    if (json) terminal.out(`${JSON.stringify(shown)}\n`);
    else
      for (const job of shown)
        terminal.out(`${job.id} ${isOver(job) ? stateText(job) : 'is being canceled'}\n`);
    return EXIT.ok;
  },
});
