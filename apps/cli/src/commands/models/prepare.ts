import { resolve } from 'node:path';
import { defineCommand } from '../../command.ts';
import { EXIT, usageError } from '../../exit-codes.ts';
import { runModelTool, type ToolResult } from '../../model-tools.ts';
import { bytesText, plain, tableOf } from '../../table.ts';
import type { Terminal } from '../../terminal.ts';
import { bytesView } from './bytes-view.ts';

export const prepareModel = defineCommand({
  name: 'models prepare',
  operands: 'FOLDER|MODEL',
  count: [1, 1],
  summary: 'Keep beside a model what a worker would compute at each start, verified against the original.',
  notes: [
    'What is kept is for this machine, its first device and its ONNX Runtime; elsewhere a worker uses the original.',
    'This command needs the server of Lehr on this machine, and runs on the first device of LEHR_DEVICE.',
  ],
  options: {
    out: { type: 'string', value: 'FOLDER', help: 'Prepare a copy of the model in this new folder.' },
    precision: {
      type: 'string',
      value: 'int8|fp16',
      help: 'Write the graphs again. int8: of a speech or text model, beside the originals as the variant quantized. fp16: of a text model, as the variant fp16; of a model for pictures, in a copy (--out).',
    },
    merge: {
      type: 'string',
      multiple: true,
      value: 'ADAPTER:SCALE',
      help: 'Make a version of MODEL with this adapter in its weights, and enter it in models.yaml; repeatable.',
    },
    as: {
      type: 'string',
      value: 'NAME',
      help: 'With --merge: name in models.yaml, as name or name@version. Default: from MODEL and its adapters.',
    },
    undo: { type: 'boolean', help: 'Remove what was prepared.' },
    variant: {
      type: 'string',
      value: 'NAME',
      help: 'Which of several exports of speech and text models, such as quantized.',
    },
  },
  run: async ({ values, positionals: [model], terminal, json }) => {
    const { out, precision, undo = false, variant, merge, as } = values;
    if (merge !== undefined) {
      if (out !== undefined || precision !== undefined || undo || variant !== undefined)
        throw usageError('--merge can be used together with --as only');
      return mergeModel({ command: 'merge', model, merge, as }, terminal, json);
    }
    if (as !== undefined) throw usageError('--as is for --merge');
    if (undo && out !== undefined) throw usageError('--undo and --out cannot be used together');
    if (undo && precision !== undefined) throw usageError('--undo and --precision cannot be used together');
    if (precision !== undefined && precision !== 'int8' && precision !== 'fp16')
      throw usageError(`--precision is ${precision}; allowed are int8 and fp16`);
    const request = {
      command: 'prepare',
      model,
      folder: resolve(model),
      undo,
      variant,
      ...(out !== undefined && { out: resolve(out) }),
    };
    if (precision !== undefined) {
      const result = await runModelTool(terminal, { ...request, precision }, 'converted');
      const { type: _, ...converted } = result;
      terminal.out(json ? `${JSON.stringify(converted)}\n` : convertedText(result));
      return EXIT.ok;
    }
    const { type: _, ...prepared } = await runModelTool(terminal, request, 'prepared');
    if (json) {
      terminal.out(`${JSON.stringify(prepared)}\n`);
      return EXIT.ok;
    }
    const { folder, graphs, undone } = prepared;
    if (undo)
      terminal.out(undone ? `removed from ${plain(folder)}\n` : `${plain(folder)} was not prepared\n`);
    else {
      terminal.out(
        tableOf(['GRAPH', 'REWIRED', 'OPTIMIZED', 'DIFFERENCE', 'TOLERANCE', 'SIZE'], graphs.map(rowOf)),
      );
      terminal.out(`\nfolder  ${plain(folder)}\n`);
    }
    return EXIT.ok;
  },
});

async function mergeModel(
  request: Readonly<Record<string, unknown>>,
  terminal: Terminal,
  json: boolean,
): Promise<typeof EXIT.ok> {
  const view = bytesView(terminal, json, 'merge');
  const made = await runModelTool(terminal, request, 'merged', view.show).finally(view.end);
  const { type: _, ...result } = made;
  terminal.out(json ? `${JSON.stringify(result)}\n` : mergedText(made));
  return EXIT.ok;
}

const mergedText = ({ model, like, bytes, merged, folder, models_file }: ToolResult<'merged'>): string =>
  [
    tableOf(
      ['ADAPTER', 'SCALE', 'LAYERS'],
      merged.map(({ name, scale, layers }) => [name, `${scale}`, `${layers}`]),
    ),
    `\n${model}  ${bytesText(bytes)} written, all else is shared with ${like}\n`,
    `folder  ${plain(folder)}\nlist    ${plain(models_file)}\n`,
    'API and workers offer it within a few seconds.\n',
  ].join('');

const rowOf = ({
  graph,
  rewired,
  optimized,
  difference,
  tolerance,
  bytes,
}: ToolResult<'prepared'>['graphs'][number]): string[] => [
  graph,
  rewired ? 'yes' : 'no',
  optimized ? 'yes' : 'no',
  difference === null ? '-' : difference.toExponential(1),
  tolerance === null ? '-' : tolerance.toExponential(0),
  bytesText(bytes),
];

type Converted<Task> = Extract<ToolResult<'converted'>, { task: Task }>;

function convertedText(result: ToolResult<'converted'>): string {
  if (result.task === 'diffusion') return halvedText(result);
  const { folder, graphs, variant } = result;
  const rows = graphs.map((each) => [each.graph, each.result, `${each.operators}`, bytesText(each.bytes)]);
  return [
    tableOf(['GRAPH', 'MADE', 'OPERATORS', 'SIZE'], rows),
    '\n',
    ...(result.task === 'whisper' ? speechLines(result) : textLines(result)),
    `folder  ${plain(folder)}\n`,
    `use it  variant: ${variant} in models.yaml, or --variant ${variant.slice(1)}\n`,
  ].join('');
}

const speechLines = ({ difference, tolerance, same, tokens }: Converted<'whisper'>): string[] => [
  `logits  differ by ${difference.toExponential(1)} of the largest; allowed ${tolerance}\n`,
  `tokens  ${same} of ${tokens} are the same\n`,
];

const textLines = ({ compared }: Converted<'text'>): string[] =>
  compared.map(({ type, difference, tolerance, of_range: isOfRange }) =>
    type === 'text-embedding'
      ? `vectors  the smallest cosine with the original is ${(1 - difference).toFixed(6)}; allowed ${1 - tolerance}\n`
      : `scores of ${type}  differ by at most ${difference.toExponential(1)}${isOfRange ? ' of their range' : ''}; allowed ${tolerance}\n`,
  );

function halvedText({ folder, graphs, tolerance }: Converted<'diffusion'>): string {
  const rows = graphs.map(({ graph, precision, difference, bytes }) => [
    graph,
    precision,
    difference === null ? '-' : difference.toExponential(1),
    tolerance.toExponential(0),
    bytesText(bytes.before),
    bytesText(bytes.after),
  ]);
  const kept = graphs.flatMap(({ graph, reason }) =>
    reason === null ? [] : [`${graph} stays float32: ${plain(reason)}\n`],
  );
  return [
    tableOf(['GRAPH', 'PRECISION', 'DIFFERENCE', 'TOLERANCE', 'BEFORE', 'SIZE'], rows),
    '\n',
    ...kept,
    'The VAE stays float32.\n',
    `folder  ${plain(folder)}\n`,
  ].join('');
}
