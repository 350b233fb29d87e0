import { defineCommand, numberOf } from '../command.ts';
import { REQUEST_OPTIONS } from '../request-options.ts';
import { TEXT_OPTIONS, textsOf } from '../text-input.ts';
import { runTextJob } from '../text-job.ts';

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
    const { values, positionals, terminal } = call;
    const { truncate, normalize } = values;
    const texts = await textsOf(positionals, values.file, terminal);
    const input = { texts, truncate, normalize, dimensions: numberOf('dimensions', values.dimensions) };
    return runTextJob(call, { type: 'text-embedding', input }, ({ embeddings = [] }) =>
      embeddings.map((embedding) => `${JSON.stringify(embedding)}\n`).join(''),
    );
  },
});
