import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { runModelTool } from '../../model-tools.ts';
import { bytesText, plain } from '../../table.ts';
import { bytesView } from './bytes-view.ts';

export const pullModel = defineCommand({
  name: 'models pull',
  operands: 'SOURCE',
  count: [1, 1],
  summary: 'Fetch a model to this machine and enter it in models.yaml.',
  notes: [
    'SOURCE is owner/name or a page of the Hugging Face hub, s3://bucket/prefix, https://host/folder/, or a folder (./folder).',
    'HF_TOKEN gives access to private and gated repositories. The same command continues what was interrupted.',
    'This command needs the server of Lehr on this machine, and the variables of the server.',
  ],
  options: {
    revision: {
      type: 'string',
      value: 'NAME',
      help: 'Branch, tag or commit of the repository. Default: main.',
    },
    variant: { type: 'string', value: 'NAME', help: 'Which of several exports, such as fp16 or quantized.' },
    as: {
      type: 'string',
      value: 'NAME',
      help: 'Name in models.yaml: name or name@version. Default: from SOURCE.',
    },
  },
  run: async ({ values, positionals: [source], terminal, json }) => {
    const { revision, variant, as } = values;
    const request = { command: 'pull', source, revision, variant, as, cwd: process.cwd() };
    const view = bytesView(terminal, json, 'fetch');
    const { type: _, ...pulled } = await runModelTool(terminal, request, 'pulled', view.show).finally(
      view.end,
    );
    if (json) {
      terminal.out(`${JSON.stringify(pulled)}\n`);
      return EXIT.ok;
    }
    const { model, bytes, is_new: isNew, folder, models_file: file } = pulled;
    terminal.out(`${model}  ${bytesText(bytes)} ${isNew ? 'fetched' : 'were there already'}\n`);
    terminal.out(`folder  ${plain(folder)}\nlist    ${plain(file)}\n`);
    terminal.out('API and workers offer it after their next start.\n');
    return EXIT.ok;
  },
});
