import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { runModelTool } from '../../model-tools.ts';
import { bytesText, plain } from '../../table.ts';
import { bytesView } from './bytes-view.ts';

export const exportModel = defineCommand({
  name: 'models export',
  operands: 'SOURCE',
  count: [1, 1],
  summary: 'Make ONNX graphs of a model of torch, with Python, and enter them in models.yaml.',
  notes: [
    'SOURCE is owner/name of the Hugging Face hub, a folder of diffusers or transformers, or a whole Stable Diffusion in one .safetensors file.',
    'A fine-tuned model whose base is in models.yaml needs no export and no Python: lehr models import.',
    'The first export installs pinned packages into LEHR_HOME/python: about 3 GB are downloaded. Python 3.10 or later must be there with its module venv. Nothing else in Lehr uses Python.',
    'HF_TOKEN gives access to private and gated repositories.',
    'This command needs the server of Lehr on this machine, and the variables of the server.',
  ],
  options: {
    revision: {
      type: 'string',
      value: 'NAME',
      help: 'Branch, tag or commit of the repository. Default: main.',
    },
    as: {
      type: 'string',
      value: 'NAME',
      help: 'Name in models.yaml: name or name@version. Default: from SOURCE.',
    },
    'control-of': {
      type: 'string',
      value: 'MODEL',
      help: 'SOURCE is a ControlNet of diffusers for this model of models.yaml.',
    },
  },
  run: async ({ values, positionals: [source], terminal, json }) => {
    const { revision, as, 'control-of': controlOf } = values;
    const request = { command: 'export', source, revision, as, controlOf, cwd: process.cwd() };
    const view = bytesView(terminal, json, 'export');
    const result = await runModelTool(terminal, request, 'exported', view.show).finally(view.end);
    const { type: _, ...exported } = result;
    const { model, folder, bytes, models_file: file } = result;
    terminal.out(
      json
        ? `${JSON.stringify(exported)}\n`
        : `${model}  ${bytesText(bytes)}\nfolder  ${plain(folder)}\nlist    ${plain(file)}\nAPI and workers offer it within a few seconds.\n`,
    );
    return EXIT.ok;
  },
});
