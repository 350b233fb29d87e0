import { defineCommand, numberOf } from '../command.ts';
import { exitCodeOfJob } from '../exit-codes.ts';
import { jobText } from '../job-text.ts';
import { REQUEST_OPTIONS, requestFields } from '../request-options.ts';
import { submitJob } from '../submit-job.ts';
import { tableOf } from '../table.ts';
import { durabilityOf, TEXT_OPTIONS, textsOf } from '../text-input.ts';

const SCORE_DIGITS = 4;

export const classify = defineCommand({
  name: 'classify',
  operands: '[TEXT...]',
  count: [0, Number.POSITIVE_INFINITY],
  summary: 'Classify texts.',
  notes: ['Standard output is a table with the best label of each text; with --json it is the whole job.'],
  options: {
    ...TEXT_OPTIONS,
    'top-k': { type: 'string', short: 'k', value: 'N', help: 'Labels for each text. Default: 1.' },
    ...REQUEST_OPTIONS,
  },
  run: async (call) => {
    const { values, positionals, terminal, json } = call;
    const texts = await textsOf(positionals, values.file, terminal);
    const input = { texts, truncate: values.truncate, top_k: numberOf('top-k', values['top-k']) ?? 1 };
    const lehr = await call.client();
    const request = {
      type: 'text-classification',
      input,
      durability: durabilityOf(values.durability),
      ...requestFields(values),
    } as const;
    const job = await submitJob(lehr, request, call, { wait: true });
    if (json) terminal.out(`${JSON.stringify(job)}\n`);
    else if (job.status !== 'succeeded') terminal.err(jobText(job));
    else {
      const { labels: results = [] } = await lehr.outputs(job, { signal: terminal.signal });
      const rows = results.flatMap((labels, i) =>
        labels.map(({ label, score }) => [
          label,
          score.toFixed(SCORE_DIGITS),
          texts[i].replaceAll('\n', ' '),
        ]),
      );
      terminal.out(tableOf(['LABEL', 'SCORE', 'TEXT'], rows));
    }
    return exitCodeOfJob(job);
  },
});
