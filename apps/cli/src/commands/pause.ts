import type { Pause } from '@lehr/client';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { plain } from '../table.ts';

const ALL = '*';
const nameOf = (model: string): string => (model === ALL ? 'all models' : model);

export const pauseQueues = defineCommand({
  name: 'queues pause',
  operands: '[MODEL]',
  count: [0, 1],
  summary: 'Claim no more jobs of a model, of one of its versions, or of any.',
  options: {
    refuse: { type: 'boolean', help: 'Refuse new jobs meanwhile. Default: they wait.' },
    now: {
      type: 'boolean',
      help: 'Hand back what runs too, with a checkpoint where one can be kept. Default: it runs to its end.',
    },
    reason: { type: 'string', value: 'TEXT', help: 'Why, for the list of pauses and the audit log.' },
  },
  run: async ({ values, positionals: [model = ALL], terminal, json, client }) => {
    const { refuse, now, reason } = values;
    const { pauses } = await client();
    const body = { submissions: refuse ? 'refused' : 'accepted', now: now === true, reason } as const;
    const pause = await pauses.set(model, body, { signal: terminal.signal });
    terminal.out(json ? `${JSON.stringify(pause)}\n` : `paused: ${pauseText(pause)}\n`);
    return EXIT.ok;
  },
});

export const resumeQueues = defineCommand({
  name: 'queues resume',
  operands: '[MODEL]',
  count: [0, 1],
  summary: 'End a pause: of a model, of a version, or the one of all models.',
  options: {},
  run: async ({ positionals: [model = ALL], terminal, json, client }) => {
    await (await client()).pauses.end(model, { signal: terminal.signal });
    terminal.out(json ? `${JSON.stringify({ resumed: model })}\n` : `resumed: ${nameOf(model)}\n`);
    return EXIT.ok;
  },
});

function pauseText({ model, submissions, reason, at, by }: Pause): string {
  const jobs = submissions === 'refused' ? 'new jobs are refused' : 'new jobs wait';
  return `${nameOf(model)} since ${at} by ${by}; ${jobs}${reason === null ? '' : `; ${plain(reason)}`}`;
}
