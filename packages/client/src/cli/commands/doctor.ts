import { defineCommand } from '../command.ts';
import { checkApi } from '../doctor/api-checks.ts';
import type { Check } from '../doctor/check.ts';
import { checkServer } from '../doctor/server-checks.ts';
import { EXIT } from '../exit-codes.ts';
import { plain } from '../table.ts';

export const doctor = defineCommand({
  name: 'doctor',
  operands: '',
  count: [0, 0],
  summary: 'Look at everything Lehr needs, and say what to do about what is wrong.',
  notes: [
    'Asks the API from wherever it runs. Where the server is installed, it also looks at Redis, the store, the models and the',
    'providers, with the variables that the server is started with.',
  ],
  options: {
    'skip-models': { type: 'boolean', help: 'Do not load models, which takes time and memory.' },
  },
  run: async ({ values, terminal, json, url, client }) => {
    const checks: Check[] = [];
    const say = (check: Check): void => {
      checks.push(check);
      if (!json) terminal.out(lineOf(check));
    };
    for await (const check of checkApi(url, client, terminal.signal)) say(check);
    const isServer = await checkServer(terminal, values['skip-models'] ?? false, say);
    const worst = checks.some(({ state }) => state === 'fail') ? 'fail' : 'ok';
    if (json) terminal.out(`${JSON.stringify({ ok: worst === 'ok', server: isServer, checks })}\n`);
    else if (!isServer)
      terminal.out('The server is not installed here: Redis, store and models were not looked at.\n');
    return worst === 'ok' ? EXIT.ok : EXIT.unhealthy;
  },
});

function lineOf({ name, state, detail, advice }: Check): string {
  const first = `${state.padEnd(4)}  ${name.padEnd(18)}  ${plain(detail)}\n`;
  return advice === undefined ? first : `${first}${' '.repeat(26)}-> ${plain(advice)}\n`;
}
