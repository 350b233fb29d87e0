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
    'Enter a .safetensors file in models.yaml: a model that has the graphs of another one, or an adapter (LoRA) of a model.',
  notes: [
    'FILE is a fine-tuned model in one file, or one part of it, such as a VAE; in the layout of Stable Diffusion, diffusers or transformers.',
    'It is a path, or fetched for the import: owner/name/file.safetensors of the Hugging Face hub, s3://bucket/file.safetensors, https://host/file.safetensors. HF_TOKEN gives access to private repositories.',
    'With --adapter-of, FILE is a LoRA or LoCon, as kohya, diffusers and PEFT write them. All versions of the model get it, and requests name it.',
    'A new version of a model that is already there gets the weight 0: jobs must name it, until lehr models deploy or models.yaml gives it a share.',
    'This command needs the server of Lehr on this machine, and the variables of the server.',
  ],
  options: {
    like: {
      type: 'string',
      value: 'MODEL',
      help: 'The model of models.yaml whose graphs it has: name or name@version.',
    },
    'adapter-of': {
      type: 'string',
      value: 'MODEL',
      help: 'The model of models.yaml that gets it as an adapter: name, or name@version to check it with that version.',
    },
    trigger: {
      type: 'string',
      multiple: true,
      value: 'WORDS',
      help: 'Of an adapter: words of a prompt that it was trained with; repeatable. Default: those that the file names.',
    },
    revision: {
      type: 'string',
      value: 'NAME',
      help: 'Branch, tag or commit of a repository of the hub. Default: main.',
    },
    as: {
      type: 'string',
      value: 'NAME',
      help: 'Name in models.yaml: name or name@version, of an adapter name. Default: from FILE.',
    },
  },
  run: async ({ values, positionals: [file], terminal, json }) => {
    const { like, revision, as, trigger, 'adapter-of': adapterOf } = values;
    const given = { file, revision, as, cwd: process.cwd() };
    const view = bytesView(terminal, json, 'import');
    if (adapterOf !== undefined) {
      if (like !== undefined) throw usageError('--like and --adapter-of cannot be used together');
      const wanted = { command: 'import-adapter', ...given, adapterOf, trigger };
      const made = await runModelTool(terminal, wanted, 'adapter-imported', view.show).finally(view.end);
      const { type: _, ...adapter } = made;
      terminal.out(json ? `${JSON.stringify(adapter)}\n` : adapterText(made));
      return EXIT.ok;
    }
    if (trigger !== undefined) throw usageError('--trigger is for an adapter: --adapter-of is missing');
    if (like === undefined)
      throw usageError(
        '--like is missing: a model of models.yaml with the same graphs; or, for a LoRA, --adapter-of: the model that gets it',
      );
    const request = { command: 'import', ...given, like };
    const result = await runModelTool(terminal, request, 'imported', view.show).finally(view.end);
    const { type: _, ...imported } = result;
    terminal.out(json ? `${JSON.stringify(imported)}\n` : importedText(result));
    return EXIT.ok;
  },
});

function adapterText({
  adapter,
  model,
  path,
  bytes,
  rank,
  layers,
  unused,
  trigger,
  models_file: file,
}: ToolResult<'adapter-imported'>): string {
  return [
    `${adapter}  adapter of ${model}, ${bytesText(bytes)}\n`,
    `layers  ${layers}, of rank ${rank} at most\n`,
    ...unusedLines(unused),
    ...(trigger.length > 0 ? [`trigger ${plain(trigger.join(', '))}\n`] : []),
    `file    ${plain(path)}\nlist    ${plain(file)}\n`,
    'API and workers offer it within a few seconds.\n',
  ].join('');
}

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
  return [
    tableOf(
      ['GRAPH', 'WEIGHTS'],
      graphs.map(({ graph, weights }) => [graph, STATES[weights].replace('BASE', like)]),
    ),
    `\n${model}  ${bytesText(bytes)} written, all else is shared with ${like}\n`,
    `used    ${used} of ${used + unused.length} tensors of the file\n`,
    ...unusedLines(unused),
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

const unusedLines = (unused: readonly string[]): string[] =>
  [...countsOf(unused.map(groupOf))].map(
    ([group, count]) => `unused  ${plain(group)}${count > 1 ? `  ${count} tensors` : ''}\n`,
  );

function countsOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
