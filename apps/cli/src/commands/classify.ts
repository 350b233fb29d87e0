import { defineCommand, numberOf } from '../command.ts';
import { REQUEST_OPTIONS } from '../request-options.ts';
import { tableOf } from '../table.ts';
import { TEXT_OPTIONS, textsOf } from '../text-input.ts';
import { runTextJob } from '../text-job.ts';

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
    const { values, positionals, terminal } = call;
    const texts = await textsOf(positionals, values.file, terminal);
    const input = { texts, truncate: values.truncate, top_k: numberOf('top-k', values['top-k']) ?? 1 };
    return runTextJob(call, { type: 'text-classification', input }, ({ labels: results = [] }) => {
      const rows = results.flatMap((labels, i) =>
        labels.map(({ label, score }) => [
          label,
          score.toFixed(SCORE_DIGITS),
          texts[i].replaceAll('\n', ' '),
        ]),
      );
      return tableOf(['LABEL', 'SCORE', 'TEXT'], rows);
    });
  },
});
