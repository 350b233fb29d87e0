import type { Job, ListOptions } from '@lehr/client';
import { defineCommand, numberOf } from '../command.ts';
import { EXIT, usageError } from '../exit-codes.ts';
import { jobsTable, jobText } from '../job-text.ts';

const MAX_PAGE = 100;
const DEFAULT_LIMIT = 20;

export const jobs = defineCommand({
  name: 'jobs',
  operands: '[JOB...]',
  count: [0, Number.POSITIVE_INFINITY],
  summary: 'List your jobs, newest first, or show the given jobs.',
  options: {
    status: {
      type: 'string',
      value: 'STATUS',
      help: 'queued, running, succeeded, failed, canceled or expired.',
    },
    type: {
      type: 'string',
      value: 'TYPE',
      help: 'text-to-image, speech-to-text, speech-to-image, text-embedding, text-classification, fill-mask, token-classification, picture-transform or workflow.',
    },
    model: { type: 'string', short: 'm', value: 'NAME', help: 'Model, or model@version.' },
    metadata: {
      type: 'string',
      multiple: true,
      value: 'NAME=VALUE',
      help: 'A label of the job. May be repeated: then it has all of them.',
    },
    text: {
      type: 'string',
      value: 'TEXT',
      help: 'Words that its prompt, a text of it or its transcript contains.',
    },
    after: {
      type: 'string',
      value: 'TIME',
      help: 'Made at this time or later, such as 2026-11-29T08:00:00Z.',
    },
    before: { type: 'string', value: 'TIME', help: 'Made before this time.' },
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
      const filter = {
        status: values.status as ListOptions['status'],
        type: values.type as ListOptions['type'],
        model: values.model,
        metadata: labelsOf(values.metadata),
        text: values.text,
        created_after: values.after,
        created_before: values.before,
        limit: Math.min(limit, MAX_PAGE),
        signal,
      };
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

function labelsOf(given: readonly string[] = []): Record<string, string> | undefined {
  if (given.length === 0) return undefined;
  return Object.fromEntries(
    given.map((label) => {
      const at = label.indexOf('=');
      if (at < 1) throw usageError(`--metadata is ${JSON.stringify(label)}, expected NAME=VALUE`);
      return [label.slice(0, at), label.slice(at + 1)];
    }),
  );
}
