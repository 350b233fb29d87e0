import { defineCommand } from '../../command.ts';
import { EXIT, usageError } from '../../exit-codes.ts';
import { jobsOf, onOrOff, percentOf, showRollout, versionOf } from './rollout-text.ts';

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
    'auto-rollback': {
      type: 'string',
      value: 'WORD',
      help: 'on or off: roll it back when its jobs fail more often or take longer. Default: on.',
    },
    'promote-after': {
      type: 'string',
      value: 'JOBS',
      help: 'Promote it when so many of its jobs have ended, in each step, and nothing speaks against it.',
    },
    steps: {
      type: 'string',
      value: 'SHARES',
      help: 'Shares that it goes through before, such as 10%,50%,100%. Needs --promote-after.',
    },
    reason: REASON,
  },
  run: async ({ values, positionals: [wanted], terminal, json, client }) => {
    const { model, version } = versionOf(wanted);
    const { canary, stable, steps, reason } = values;
    if (canary === undefined && steps === undefined) {
      throw usageError('--canary is missing, such as --canary 10%');
    }
    const promoteAfter = values['promote-after'];
    const rollout = await (await client()).rollouts.deploy(
      model,
      {
        version,
        weight: canary === undefined ? undefined : percentOf('canary', canary),
        stable,
        sticky_by: values['sticky-by'] as 'key' | undefined,
        auto_rollback: onOrOff('auto-rollback', values['auto-rollback']),
        promote_after: promoteAfter === undefined ? undefined : jobsOf('promote-after', promoteAfter),
        steps: steps?.split(',').map((step) => percentOf('steps', step)),
        reason,
      },
      { signal: terminal.signal },
    );
    showRollout(terminal, json, rollout);
    return EXIT.ok;
  },
});
