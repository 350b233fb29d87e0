import { defineCommand } from '../../command.ts';
import { EXIT, usageError } from '../../exit-codes.ts';
import { percentOf, showRollout, versionOf } from './rollout-text.ts';

const REASON = { type: 'string', value: 'TEXT', help: 'Why, for the history.' } as const;
const STABLE = {
  type: 'string',
  value: 'VERSION',
  help: 'The version of all other callers. Default: the one they get now.',
} as const;

export const deployVersion = defineCommand({
  name: 'models deploy',
  operands: 'NAME@VERSION',
  count: [1, 1],
  summary: 'Try a version of a model with some of the callers, or change how many. Needs the scope admin.',
  notes: [
    'A caller keeps its version, and a higher share adds callers. Jobs that name a version are not affected.',
    'How the jobs of both versions ended: lehr models rollouts NAME.',
  ],
  options: {
    canary: { type: 'string', value: 'SHARE', help: 'How many of the callers get it, such as 10%.' },
    stable: STABLE,
    'sticky-by': {
      type: 'string',
      value: 'WORD',
      help: 'What decides who gets it: key, tenant or job. Default: key.',
    },
    reason: REASON,
  },
  run: async ({ values, positionals: [wanted], terminal, json, client }) => {
    const { model, version } = versionOf(wanted);
    const { canary, stable, reason } = values;
    if (canary === undefined) throw usageError('--canary is missing, such as --canary 10%');
    const rollout = await (await client()).rollouts.deploy(
      model,
      {
        version,
        weight: percentOf('canary', canary),
        stable,
        sticky_by: values['sticky-by'] as 'key' | undefined,
        reason,
      },
      { signal: terminal.signal },
    );
    showRollout(terminal, json, rollout);
    return EXIT.ok;
  },
});
