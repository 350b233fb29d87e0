import { defineCommand } from '../command.ts';
import { checkApi } from '../doctor/api-checks.ts';
import type { Check } from '../doctor/check.ts';
import { checkServer } from '../doctor/server-checks.ts';
import { EXIT } from '../exit-codes.ts';
import { serverIsElsewhere } from '../server-program.ts';
import { plain } from '../table.ts';

export const doctor = defineCommand({
  name: 'doctor',
  operands: '',
  count: [0, 0],
  summary: 'Check everything that Lehr needs, and say how to fix what is wrong.',
  notes: [
    'Checks the API over HTTP. Where the server is installed, it also checks Redis, the store, the models and the providers:',
    'run it with the variables of the server. With --upgrade, run it from the new version before anything is replaced.',
  ],
  options: {
    'skip-models': { type: 'boolean', help: 'Do not load models, which takes time and memory.' },
    upgrade: {
      type: 'boolean',
      help: 'Only say whether what runs can be replaced by this version, and in which order.',
    },
  },
  run: async ({ values, terminal, json, url, client }) => {
    const checks: Check[] = [];
    const report = (check: Check): void => {
      checks.push(check);
      if (!json) terminal.out(lineOf(check));
    };
    const { upgrade = false, 'skip-models': skipModels = false } = values;
    if (!upgrade) for await (const check of checkApi(url, client, terminal.signal)) report(check);
    const flags = [...(skipModels ? ['--skip-models'] : []), ...(upgrade ? ['--upgrade'] : [])];
    const isServer = await checkServer(terminal, flags, report);
    if (upgrade && !isServer) throw serverIsElsewhere();
    const ok = checks.every(({ state }) => state !== 'fail');
    if (json) terminal.out(`${JSON.stringify({ ok, server: isServer, checks })}\n`);
    else if (!isServer)
      terminal.out('The server is not installed here: Redis, the store and the models were not checked.\n');
    return ok ? EXIT.ok : EXIT.unhealthy;
  },
});

function lineOf({ name, state, detail, advice }: Check): string {
  const first = `${state.padEnd(4)}  ${name.padEnd(18)}  ${plain(detail)}\n`;
  return advice === undefined ? first : `${first}${' '.repeat(26)}-> ${plain(advice)}\n`;
}
