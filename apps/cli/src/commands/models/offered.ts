import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { tableOf } from '../../table.ts';

export const models = defineCommand({
  name: 'models',
  operands: '',
  count: [0, 0],
  summary: 'List the models that the server offers.',
  options: {},
  run: async ({ terminal, json, client }) => {
    const list = await (await client()).models({ signal: terminal.signal });
    if (json) terminal.out(`${JSON.stringify(list)}\n`);
    else {
      terminal.out(
        tableOf(
          ['MODEL', 'TASK', 'DEFAULT', 'VERSIONS'],
          list.map((model) => [
            model.id,
            model.task === 'text' ? model.tasks.join(' ') : model.task,
            model.default ? 'yes' : '',
            model.versions.map(({ version }) => version).join(' '),
          ]),
        ),
      );
    }
    return EXIT.ok;
  },
});
