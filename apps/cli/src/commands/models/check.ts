import { resolve } from 'node:path';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { type GraphCheck, runModelTool } from '../../model-tools.ts';
import { bytesText, durationText, plain, tableOf } from '../../table.ts';
import { partsTable } from './parts-view.ts';

export const checkModel = defineCommand({
  name: 'models check',
  operands: 'FOLDER',
  count: [1, 1],
  summary: 'Open a model folder, run every graph once, and show what Lehr makes of it.',
  notes: ['This command needs the server of Lehr on this machine, and runs on the device of LEHR_DEVICE.'],
  options: {
    variant: {
      type: 'string',
      value: 'NAME',
      help: 'Which of several exports of speech and text models, such as quantized.',
    },
  },
  run: async ({ values, positionals: [folder], terminal, json }) => {
    const request = { command: 'check', folder: resolve(folder), variant: values.variant };
    const { type: _, ...checked } = await runModelTool(terminal, request, 'checked');
    if (json) {
      terminal.out(`${JSON.stringify(checked)}\n`);
      return EXIT.ok;
    }
    const { task, batching, graphs, open_ms: openMs, memory_bytes: memory } = checked;
    terminal.out(tableOf(['GRAPH', 'PROVIDER', 'LOAD', 'FIRST RUN'], graphs.map(rowOf)));
    for (const { graph, inputs, outputs, fusion } of graphs) {
      terminal.out(
        `\n${plain(graph)}\n  in   ${plain(inputs.join(', '))}\n  out  ${plain(outputs.join(', '))}\n`,
      );
      if (fusion) for (const line of fusionLines(fusion)) terminal.out(`  ${plain(line)}\n`);
    }
    terminal.out(partsTable(checked.parts));
    terminal.out(`\ntask      ${task}\nbatching  ${plain(batching)}\n`);
    terminal.out(`opened    in ${durationText(openMs)}, with ${bytesText(memory)} of memory\n`);
    return EXIT.ok;
  },
});

const rowOf = ({ graph, provider, load_ms: loadMs, first_run_ms: runMs }: GraphCheck): string[] => [
  graph,
  provider,
  durationText(loadMs),
  runMs === null ? 'not run' : `${runMs} ms`,
];

/** Such as `attentions  30 fused`, and one line for each reason why others are not; the same for the operators of CUDA. */
export const fusionLines = ({ attentions, left, cuda }: NonNullable<GraphCheck['fusion']>): string[] => [
  ...(attentions > 0 || !cuda ? [`attentions  ${attentions} fused`] : []),
  ...Object.entries(left).map(([reason, count]) => `attentions  ${count} as exported: ${reason}`),
  ...(cuda ? [`operators   ${cudaText(cuda)}`] : []),
  ...Object.entries(cuda?.left ?? {}).map(
    ([reason, operator]) => `operators   1 ${operator} as exported: ${reason}`,
  ),
];

const cudaText = ({ operators, problem }: CudaFusion): string =>
  problem === undefined
    ? Object.entries(operators)
        .map(([operator, count]) => `${count} ${operator}`)
        .join(', ')
    : `as exported: ${problem}`;

type CudaFusion = NonNullable<NonNullable<GraphCheck['fusion']>['cuda']>;
