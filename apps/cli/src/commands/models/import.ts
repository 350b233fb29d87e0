import { defineCommand } from '../../command.ts';
import { EXIT, usageError } from '../../exit-codes.ts';
import { runModelTool, type ToolResult } from '../../model-tools.ts';
import { bytesText, plain, tableOf } from '../../table.ts';
import { bytesView } from './bytes-view.ts';

export const importModel = defineCommand({
  name: 'models import',
  operands: 'FILE',
  count: [1, 1],
  summary:
    'Make a model from a .safetensors file and from a model with the same graphs, and enter it in models.yaml.',
  notes: [
    'FILE is a fine-tuned model in one file, or one part of it, such as a VAE; in the layout of Stable Diffusion, diffusers or transformers.',
    'It is a path, or fetched for the import: owner/name/file.safetensors of the Hugging Face hub, s3://bucket/file.safetensors, https://host/file.safetensors. HF_TOKEN gives access to private repositories.',
    'A new version of a model that is already there gets the weight 0: jobs must name it, until lehr models deploy or models.yaml gives it a share.',
    'This command needs the server of Lehr on this machine, and the variables of the server.',
  ],
  options: {
    like: {
      type: 'string',
      value: 'MODEL',
      help: 'The model of models.yaml whose graphs it has: name or name@version.',
    },
    revision: {
      type: 'string',
      value: 'NAME',
      help: 'Branch, tag or commit of a repository of the hub. Default: main.',
    },
    as: {
      type: 'string',
      value: 'NAME',
      help: 'Name in models.yaml: name or name@version. Default: from FILE.',
    },
  },
  run: async ({ values, positionals: [file], terminal, json }) => {
    const { like, revision, as } = values;
    if (like === undefined)
      throw usageError('--like is missing: a model of models.yaml with the same graphs');
    const request = { command: 'import', file, revision, like, as, cwd: process.cwd() };
    const view = bytesView(terminal, json, 'import');
    const result = await runModelTool(terminal, request, 'imported', view.show).finally(view.end);
    const { type: _, ...imported } = result;
    terminal.out(json ? `${JSON.stringify(imported)}\n` : importedText(result));
    return EXIT.ok;
  },
});

function importedText({
  model,
  like,
  folder,
  graphs,
  bytes,
  used,
  unused,
  models_file: file,
}: ToolResult<'imported'>): string {
  const groups = [...countsOf(unused.map(groupOf))];
  return [
    tableOf(
      ['GRAPH', 'WEIGHTS'],
      graphs.map(({ graph, weights }) => [graph, STATES[weights].replace('BASE', like)]),
    ),
    `\n${model}  ${bytesText(bytes)} written, all else is shared with ${like}\n`,
    `used    ${used} of ${used + unused.length} tensors of the file\n`,
    ...groups.map(([group, count]) => `unused  ${plain(group)}${count > 1 ? `  ${count} tensors` : ''}\n`),
    `folder  ${plain(folder)}\nlist    ${plain(file)}\n`,
    'API and workers offer it within a few seconds.\n',
  ].join('');
}

const STATES = {
  written: 'from the file',
  equal: 'equal in both',
  kept: 'of BASE: the file has none',
  'left-out': 'left out: its weights are integers',
} as const;

/** Many unused tensors are of one part of a model: its name is enough. */
const groupOf = (name: string): string => name.split('.').slice(0, 2).join('.');

function countsOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
