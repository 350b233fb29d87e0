import { defineCommand, numberOf } from '../command.ts';
import { exitCodeOfJob } from '../exit-codes.ts';
import { jobText } from '../job-text.ts';
import { REQUEST_OPTIONS, requestFields } from '../request-options.ts';
import { submitJob } from '../submit-job.ts';
import { durabilityOf, TEXT_OPTIONS, textsOf } from '../text-input.ts';

export const embed = defineCommand({
  name: 'embed',
  operands: '[TEXT...]',
  count: [0, Number.POSITIVE_INFINITY],
  summary: 'Embed texts.',
  notes: [
    'Standard output has one line per text: its embedding as a JSON list; with --json it is the whole job.',
  ],
  options: {
    ...TEXT_OPTIONS,
    dimensions: { type: 'string', value: 'N', help: 'Keep only the first N numbers of each embedding.' },
    normalize: { type: 'boolean', help: 'Scale each embedding to length 1.' },
    ...REQUEST_OPTIONS,
  },
  run: async (call) => {
    const { values, positionals, terminal, json } = call;
    const { truncate, normalize } = values;
    const texts = await textsOf(positionals, values.file, terminal);
    const input = { texts, truncate, normalize, dimensions: numberOf('dimensions', values.dimensions) };
    const lehr = await call.client();
    const request = {
      type: 'text-embedding',
      input,
      durability: durabilityOf(values.durability),
      ...requestFields(values),
    } as const;
    const job = await submitJob(lehr, request, call, { wait: true });
    if (json) terminal.out(`${JSON.stringify(job)}\n`);
    else if (job.status !== 'succeeded') terminal.err(jobText(job));
    else {
      const { embeddings = [] } = await lehr.outputs(job, { signal: terminal.signal });
      for (const embedding of embeddings) terminal.out(`${JSON.stringify(embedding)}\n`);
    }
    return exitCodeOfJob(job);
  },
});
