import type { Rollout } from '@lehr/client';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { tableOf } from '../../table.ts';
import { showRollout } from './rollout-text.ts';

export const listRollouts = defineCommand({
  name: 'models rollouts',
  operands: '[MODEL]',
  count: [0, 1],
  summary: 'List the rollouts, or show that of one model with its history.',
  options: {},
  run: async ({ positionals: [model], terminal, json, client }) => {
    const { rollouts } = await client();
    const { signal } = terminal;
    if (model !== undefined) {
      const rollout = await rollouts.get(model, { signal });
      showRollout(terminal, json, rollout);
      if (!json) terminal.out(`\n${historyTable(rollout)}`);
      return EXIT.ok;
    }
    const all = await rollouts.list({ signal });
    if (json) terminal.out(`${JSON.stringify(all)}\n`);
    else terminal.out(all.length > 0 ? rolloutsTable(all) : 'No rollouts.\n');
    return EXIT.ok;
  },
});

const rolloutsTable = (all: readonly Rollout[]): string =>
  tableOf(
    ['MODEL', 'STATE', 'STABLE', 'CANARY', 'SHARE', 'JOBS', 'FAILED', 'BY', 'REASON'],
    all.map(({ model, state, stable, canary, weight, outcomes, changed_by, reason }) => [
      model,
      state,
      stable,
      canary,
      `${weight}%`,
      `${outcomes.canary.jobs}`,
      `${outcomes.canary.failed}`,
      changed_by ?? '',
      reason ?? '',
    ]),
  );

const historyTable = ({ history }: Rollout): string =>
  tableOf(
    ['AT', 'ACTION', 'STABLE', 'CANARY', 'SHARE', 'BY', 'REASON'],
    history.map(({ at, action, stable, canary, weight, by, reason }) => [
      at,
      action,
      stable,
      canary,
      `${weight}%`,
      by ?? '',
      reason ?? '',
    ]),
  );
