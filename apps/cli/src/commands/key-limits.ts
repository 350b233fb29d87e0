/** `lehr keys limit`: the limits of a key that exists. */
import type { KeyChange, KeyLimits } from '@lehr/client';
import { defineCommand, numberOf } from '../command.ts';
import { EXIT, usageError } from '../exit-codes.ts';
import { plain } from '../table.ts';

/** By the option that sets it. */
const COUNTS = {
  'max-jobs': 'max_jobs',
  'max-queued': 'max_queued',
  'cost-per-minute': 'cost_per_minute_s',
  'requests-per-minute': 'requests_per_minute',
  'max-streams': 'max_streams',
  'max-backlog-share': 'max_backlog_share',
  'max-stored-mb': 'max_stored_mb',
  'upload-mb-per-day': 'upload_mb_per_day',
  'max-batches': 'max_batches',
  'max-batch-lines': 'max_batch_lines',
} as const satisfies Readonly<Record<string, keyof KeyLimits>>;

const count = (help: string) => ({ type: 'string', value: 'N', help }) as const;

export const limitKey = defineCommand({
  name: 'keys limit',
  operands: 'ID',
  count: [1, 1],
  summary: 'Change limits of a key. Every API process applies them within a second.',
  notes: ['The word none removes a limit: lehr keys limit 4fZk09Qa --max-queued none'],
  options: {
    'max-jobs': count("The tenant's jobs that wait or run."),
    'max-queued': count('Those of them that wait.'),
    'cost-per-minute': count('Estimated engine seconds that the key may use per minute.'),
    'requests-per-minute': count('Job requests and uploads, at each API process.'),
    'max-streams': count('Open event streams, at each API process.'),
    'max-backlog-share': count("Share of the longest wait that the tenant's jobs may fill, from 0.01 to 1."),
    'max-stored-mb': count("Megabytes of the tenant's uploads at once."),
    'upload-mb-per-day': count('Megabytes that the tenant uploads in 24 hours.'),
    'max-batches': count("The tenant's batches that have not ended."),
    'max-batch-lines': count('Lines of one batch.'),
    'max-priority': {
      type: 'string',
      value: 'CLASS',
      help: 'The most urgent class of its jobs: interactive, standard or bulk.',
    },
    safety: {
      type: 'string',
      value: 'MODE',
      help: 'Unsafe pictures of the key: off, mark, blur or refuse; none: as the model says.',
    },
    weight: count("The tenant's share of the engine, against other tenants."),
  },
  run: async ({ values, positionals: [id], terminal, json, client }) => {
    const counts = Object.entries(COUNTS).flatMap(([option, field]) => {
      const text = values[option as keyof typeof COUNTS];
      return text === undefined ? [] : [[field, text === 'none' ? null : numberOf(option, text)] as const];
    });
    const priority = values['max-priority'] as KeyLimits['max_priority'] | undefined;
    const { safety } = values;
    const weight = numberOf('weight', values.weight);
    const limits: NonNullable<KeyChange['limits']> = {
      ...Object.fromEntries(counts),
      ...(priority !== undefined && { max_priority: priority }),
      ...(safety !== undefined && { safety: safety === 'none' ? null : (safety as KeyLimits['safety']) }),
      ...(weight !== undefined && { weight }),
    };
    if (Object.keys(limits).length === 0) throw usageError('no limit is given, such as --max-jobs 100');
    const key = await (await client()).keys.change(id, { limits }, { signal: terminal.signal });
    if (json) terminal.out(`${JSON.stringify(key)}\n`);
    else {
      const shown = Object.keys(limits).map(
        (name) => `${name} ${key.limits[name as keyof KeyLimits] ?? 'none'}`,
      );
      terminal.out(`${plain(key.id)} of ${plain(key.tenant)}: ${plain(shown.join(', '))}\n`);
    }
    return EXIT.ok;
  },
});
