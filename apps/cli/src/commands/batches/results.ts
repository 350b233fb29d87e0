/** `lehr batches results`: the answers of a batch, as JSON lines or with all outputs as a zip. */
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';

export const batchResults = defineCommand({
  name: 'batches results',
  operands: 'BATCH',
  count: [1, 1],
  summary: 'Write the answers of a batch that has ended as JSON lines, in the order of its requests.',
  options: {
    errors: { type: 'boolean', help: 'Those of what failed, in place of what succeeded.' },
    zip: { type: 'string', value: 'FILE', help: 'Write all answers and their pictures to this zip instead.' },
  },
  run: async ({ values, positionals: [id], terminal, client }) => {
    const { batches } = await client();
    const { signal } = terminal;
    if (values.zip !== undefined) {
      await pipeline(batches.zip(id, { signal }), createWriteStream(values.zip));
      return EXIT.ok;
    }
    const { output_file_id, error_file_id } = await batches.get(id, { signal });
    const file = values.errors ? error_file_id : output_file_id;
    if (file === null) {
      terminal.err('The batch has none, or has not ended.\n');
      return EXIT.ok;
    }
    for await (const answer of batches.answers(file, { signal })) terminal.out(`${JSON.stringify(answer)}\n`);
    return EXIT.ok;
  },
});
