import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { type ListedModel, runModelTool } from '../../model-tools.ts';
import { bytesText, plain, tableOf } from '../../table.ts';
import { partsTable } from './parts-view.ts';

export const listModels = defineCommand({
  name: 'models list',
  operands: '',
  count: [0, 0],
  summary:
    'List the models of this machine, with their adapters and ControlNets, and what else its cache holds.',
  notes: ['lehr models lists what the server offers.'],
  options: {},
  run: async ({ terminal, json }) => {
    const { type: _, ...listed } = await runModelTool(terminal, { command: 'list' }, 'list');
    if (json) {
      terminal.out(`${JSON.stringify(listed)}\n`);
      return EXIT.ok;
    }
    terminal.out(
      tableOf(['MODEL', 'TASK', 'STATE', 'SIZE', 'LAST USED', 'SOURCE OR FOLDER'], listed.models.map(rowOf)),
    );
    terminal.out(partsTable(listed.parts));
    terminal.out(`\ncache  ${plain(listed.cache)}  ${bytesText(listed.cache_bytes)}\n`);
    return EXIT.ok;
  },
});

const rowOf = ({
  model,
  task,
  state,
  bytes,
  last_used_at: usedAt,
  source,
  folder,
}: ListedModel): string[] => [
  model ?? '(not in models.yaml)',
  task ?? '',
  state,
  bytesText(bytes),
  usedAt?.slice(0, 10) ?? '',
  source ?? folder,
];
