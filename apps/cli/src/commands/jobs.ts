import type { Job } from '@lehr/client';
import { defineCommand, numberOf } from '../command.ts';
import { EXIT, usageError } from '../exit-codes.ts';
import { FILTER_OPTIONS, filterOf } from '../job-filter.ts';
import { jobsTable, jobText } from '../job-text.ts';

const MAX_PAGE = 100;
const DEFAULT_LIMIT = 20;

export const jobs = defineCommand({
  name: 'jobs',
  operands: '[JOB...]',
  count: [0, Number.POSITIVE_INFINITY],
  summary: 'List your jobs, newest first, or show the given jobs.',
  options: {
    ...FILTER_OPTIONS,
    limit: { type: 'string', value: 'N', help: `The largest number of jobs. Default: ${DEFAULT_LIMIT}.` },
  },
  run: async ({ values, positionals, terminal, json, client }) => {
    const lehr = await client();
    const { signal } = terminal;
    const shown: Job[] = [];
    if (positionals.length > 0) {
      for (const id of positionals) shown.push(await lehr.get(id, { signal }));
    } else {
      const limit = numberOf('limit', values.limit) ?? DEFAULT_LIMIT;
      if (limit < 1 || !Number.isInteger(limit))
        throw usageError(`--limit is ${JSON.stringify(values.limit)}, expected a whole number above 0`);
      const filter = { ...filterOf(values), limit: Math.min(limit, MAX_PAGE), signal };
      for await (const job of lehr.list(filter)) {
        shown.push(job);
        if (shown.length === limit) break;
      }
    }
    if (json) terminal.out(`${JSON.stringify(shown)}\n`);
    else if (positionals.length > 0) terminal.out(shown.map((job) => jobText(job)).join('\n'));
    else terminal.out(shown.length > 0 ? jobsTable(shown) : 'No jobs.\n');
    return EXIT.ok;
  },
});
