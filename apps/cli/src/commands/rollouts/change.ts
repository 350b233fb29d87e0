import type { RolloutChange } from '@lehr/client';
import { type Command, defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { plain } from '../../table.ts';
import { showRollout } from './rollout-text.ts';

const REASON = { type: 'string', value: 'TEXT', help: 'Why, for the history.' } as const;

const changeCommand = (verb: string, state: RolloutChange['state'], summary: string): Command =>
  defineCommand({
    name: `models ${verb}`,
    operands: 'MODEL',
    count: [1, 1],
    summary,
    options: { reason: REASON },
    run: async ({ values, positionals: [model], terminal, json, client }) => {
      const { reason } = values;
      const { rollouts } = await client();
      const rollout = await rollouts.change(model, { state, reason }, { signal: terminal.signal });
      showRollout(terminal, json, rollout);
      return EXIT.ok;
    },
  });

/** A change after which no new job gets the other version. */
const endCommand = (verb: string, state: 'promoted' | 'rolled-back', summary: string): Command =>
  defineCommand({
    name: `models ${verb}`,
    operands: 'MODEL',
    count: [1, 1],
    summary,
    options: {
      rollout: {
        type: 'string',
        value: 'ID',
        help: 'The rollout that is meant: refused when the model has another one by now. Default: the one it has.',
      },
      reason: REASON,
    },
    run: async ({ values, positionals: [model], terminal, json, client }) => {
      const { rollouts } = await client();
      const body = { state, reason: values.reason, rollout: values.rollout };
      const rollout = await rollouts.change(model, body, { signal: terminal.signal });
      showRollout(terminal, json, rollout);
      return EXIT.ok;
    },
  });

export const promoteVersion = endCommand(
  'promote',
  'promoted',
  'Give the version that is tried to all callers.',
);
export const rollBackVersion = endCommand(
  'rollback',
  'rolled-back',
  'Give all callers the version from before.',
);
export const pauseRollout = changeCommand(
  'pause',
  'paused',
  'Give all callers the version from before, until the rollout is resumed.',
);
export const resumeRollout = changeCommand(
  'resume',
  'running',
  'Continue a paused rollout with the same callers.',
);

export const forgetRollout = defineCommand({
  name: 'models forget',
  operands: 'MODEL',
  count: [1, 1],
  summary: 'End the rollout of a model: the weights in models.yaml decide again.',
  options: {},
  run: async ({ positionals: [model], terminal, json, client }) => {
    await (await client()).rollouts.remove(model, { signal: terminal.signal });
    terminal.out(
      json
        ? `${JSON.stringify({ forgotten: model })}\n`
        : `${plain(model)} has no rollout any more; models.yaml decides\n`,
    );
    return EXIT.ok;
  },
});
