import type { Pause } from '@lehr/client';
import { defineCommand } from '../command.ts';
import { EXIT, usageError } from '../exit-codes.ts';
import { plain } from '../table.ts';

const ALL = '*';
const nameOf = (target: string): string => (target === ALL ? 'all models' : target);

const tenant = { type: 'string', value: 'NAME', help: 'Of this tenant, in place of a model.' } as const;

function targetOf(model: string | undefined, tenantName: string | undefined): string {
  if (tenantName === undefined) return model ?? ALL;
  if (model === undefined) return `tenant:${tenantName}`;
  throw usageError('a model cannot be given together with --tenant');
}

export const pauseQueues = defineCommand({
  name: 'queues pause',
  operands: '[MODEL]',
  count: [0, 1],
  summary: 'Claim no more jobs of a model, of one of its versions, of a tenant, or of any.',
  options: {
    tenant,
    refuse: { type: 'boolean', help: 'Refuse new jobs meanwhile. Default: they wait.' },
    now: {
      type: 'boolean',
      help: 'Hand back what runs too, with a checkpoint where one can be kept. Default: it runs to its end.',
    },
    reason: { type: 'string', value: 'TEXT', help: 'Why, for the list of pauses and the audit log.' },
  },
  run: async ({ values, positionals: [model], terminal, json, client }) => {
    const { refuse, now, reason } = values;
    const target = targetOf(model, values.tenant);
    const { pauses } = await client();
    const body = { submissions: refuse ? 'refused' : 'accepted', now: now === true, reason } as const;
    const pause = await pauses.set(target, body, { signal: terminal.signal });
    terminal.out(json ? `${JSON.stringify(pause)}\n` : `paused: ${pauseText(target, pause)}\n`);
    return EXIT.ok;
  },
});

export const resumeQueues = defineCommand({
  name: 'queues resume',
  operands: '[MODEL]',
  count: [0, 1],
  summary: 'End a pause: of a model, of a version, of a tenant, or the one of all models.',
  options: { tenant },
  run: async ({ values, positionals: [model], terminal, json, client }) => {
    const target = targetOf(model, values.tenant);
    await (await client()).pauses.end(target, { signal: terminal.signal });
    terminal.out(json ? `${JSON.stringify({ resumed: target })}\n` : `resumed: ${nameOf(target)}\n`);
    return EXIT.ok;
  },
});

function pauseText(target: string, { submissions, reason, at, by }: Pause): string {
  const jobs = submissions === 'refused' ? 'new jobs are refused' : 'new jobs wait';
  return `${nameOf(target)} since ${at} by ${by}; ${jobs}${reason === null ? '' : `; ${plain(reason)}`}`;
}
