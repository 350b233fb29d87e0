import type { Job } from '@lehr/client';
import { defineCommand } from '../command.ts';
import { EXIT, usageError } from '../exit-codes.ts';
import { ACTION_OPTIONS, runAction } from './job-actions.ts';

export const retryJobs = defineCommand({
  name: 'jobs retry',
  operands: '[JOB...]',
  count: [0, Number.POSITIVE_INFINITY],
  summary: 'Create new jobs from the input of jobs that have ended: of the given ones, or of all that match.',
  notes: [
    'With options that choose jobs, it covers those that there are when it begins, and goes on when this command is interrupted.',
    'Then workflows, jobs that have not ended and jobs that were retried before are skipped, and why jobs could not be retried is said on standard error.',
  ],
  options: ACTION_OPTIONS,
  run: async (call) => {
    const { positionals, values, terminal, json, client } = call;
    if (positionals.length === 0) return runAction(call, { action: 'retry' });
    if (Object.keys(values).some((name) => name in ACTION_OPTIONS))
      throw usageError('expected either JOB... or options that choose jobs');
    const lehr = await client();
    const made: Job[] = [];
    try {
      for (const id of positionals) {
        const job = await lehr.retry(id, { signal: terminal.signal });
        made.push(job);
        if (!json) terminal.out(`${job.id} retries ${id}\n`);
      }
    } finally {
      // Also after an error: these jobs exist.
      if (json) terminal.out(`${JSON.stringify(made)}\n`);
    }
    return EXIT.ok;
  },
});
