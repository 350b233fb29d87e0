import { defineCommand } from '../../command.ts';
import { EXIT, usageError } from '../../exit-codes.ts';
import { runModelTool } from '../../model-tools.ts';
import { bytesText, plain } from '../../table.ts';

export const removeModel = defineCommand({
  name: 'models remove',
  operands: 'NAME@VERSION',
  count: [0, 1],
  summary: 'Take a version out of models.yaml, and its fetched files out of the cache.',
  notes: ['A folder that models.yaml names by its path is not deleted.'],
  options: {
    unused: { type: 'boolean', help: 'Also delete what the cache holds and models.yaml does not name.' },
  },
  run: async ({ values, positionals: [model], terminal, json }) => {
    const { unused = false } = values;
    if (model === undefined && !unused) throw usageError('NAME@VERSION is missing');
    const { type: _, ...result } = await runModelTool(
      terminal,
      { command: 'remove', model, unused },
      'removed',
    );
    if (json) terminal.out(`${JSON.stringify(result)}\n`);
    else {
      for (const folder of result.removed) terminal.out(`deleted  ${plain(folder)}\n`);
      for (const folder of result.kept) terminal.out(`kept     ${plain(folder)} (it is being fetched)\n`);
      terminal.out(`${bytesText(result.bytes)} freed\n`);
    }
    return EXIT.ok;
  },
});
