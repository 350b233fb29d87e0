/** What is done to all jobs that match a filter: it counts them, asks, and follows the action to its end. */
import { setTimeout } from 'node:timers/promises';
import type { JobAction, JobActionRequest, Lehr } from '@lehr/client';
import { type Call, defineCommand } from '../command.ts';
import { EXIT, type ExitCode, usageError } from '../exit-codes.ts';
import { FILTER_OPTIONS, filterOf } from '../job-filter.ts';
import { ERASE_LINE } from '../progress.ts';
import { plain } from '../table.ts';
import type { Terminal } from '../terminal.ts';

export const ACTION_OPTIONS = {
  ...FILTER_OPTIONS,
  all: { type: 'boolean', help: 'All jobs: instead of a filter.' },
  yes: { type: 'boolean', short: 'y', help: 'Do not ask. Needed when there is no terminal to ask at.' },
  'dry-run': { type: 'boolean', help: 'Only say how many jobs match.' },
} as const;
const NOTES = [
  'It covers the jobs that there are when it begins, and goes on when this command is interrupted.',
  'Jobs in a state that it does not apply to are skipped.',
];
const LOOK_EVERY_MS = 500;

type Wanted = Pick<JobActionRequest, 'action' | 'priority'>;

/** Exits with 65 when it was not done to all jobs that it applies to. */
export async function runAction(
  { values, terminal, json, client }: Call<typeof ACTION_OPTIONS>,
  wanted: Wanted,
): Promise<ExitCode> {
  const filter = filterOf(values);
  const { all, yes, 'dry-run': dryRun } = values;
  if (!all && Object.keys(filter).length === 0)
    throw usageError('expected options that choose jobs, such as --status failed, or --all');
  const lehr = await client();
  const { signal } = terminal;
  const request = { ...wanted, filter, ...(all && { all: true as const }) };
  const counted = await lehr.actions.count(request, { signal });
  const jobs = `${counted.count_is_exact ? '' : 'at least '}${counted.count} ${counted.count === 1 ? 'job matches' : 'jobs match'}`;
  if (dryRun) {
    terminal.out(json ? `${JSON.stringify(counted)}\n` : `${jobs}.\n`);
    return EXIT.ok;
  }
  if (!yes) {
    if (!terminal.ask) throw usageError(`${jobs}: --yes is needed where nobody can be asked`);
    const answer = await terminal.ask(
      `${jobs}. ${VERBS[wanted.action]} ${counted.count === 1 ? 'it' : 'them'}? [y/N] `,
    );
    if (!/^y(?:es)?$/i.test(answer.trim())) return EXIT.interrupted;
  }
  const ended = await follow(lehr, await lehr.actions.create(request, { signal }), terminal);
  terminal.out(json ? `${JSON.stringify(ended)}\n` : `${lineOf(ended)}\n`);
  for (const { code, count, job, detail } of ended.errors)
    terminal.err(`lehr: ${code}: ${count}, such as ${job}: ${plain(detail)}\n`);
  return ended.status === 'completed' && ended.failed === 0 ? EXIT.ok : EXIT.refused;
}

const VERBS = { cancel: 'Cancel', retry: 'Retry', delete: 'Delete', prioritize: 'Prioritize' } as const;

const lineOf = ({ id, status, done, skipped, failed }: JobAction): string =>
  `${id} ${status}: ${done} done, ${skipped} skipped, ${failed} failed`;

async function follow(lehr: Lehr, begun: JobAction, { signal, err, errIsTty }: Terminal): Promise<JobAction> {
  let action = begun;
  if (!errIsTty) err(`${begun.id} has begun\n`);
  while (action.ended_at === null) {
    const { done, skipped, failed, count } = action;
    if (errIsTty) err(`${ERASE_LINE}${begun.id} ${done + skipped + failed} of ${count}`);
    await setTimeout(LOOK_EVERY_MS, undefined, { signal });
    action = await lehr.actions.get(begun.id, { signal });
  }
  if (errIsTty) err(ERASE_LINE);
  return action;
}

const actionCommand = (action: 'cancel' | 'delete', summary: string) =>
  defineCommand({
    name: `jobs ${action}`,
    operands: '',
    count: [0, 0],
    summary,
    notes: NOTES,
    options: ACTION_OPTIONS,
    run: (call) => runAction(call, { action }),
  });

export const cancelJobs = actionCommand('cancel', 'Cancel all jobs that match and have not ended.');
export const deleteJobs = actionCommand(
  'delete',
  'Delete all jobs that match and have ended, with their outputs.',
);

export const prioritizeJobs = defineCommand({
  name: 'jobs prioritize',
  operands: 'PRIORITY',
  count: [1, 1],
  summary: 'Give all jobs that match and wait another priority: interactive, standard or bulk.',
  notes: NOTES,
  options: ACTION_OPTIONS,
  run: (call) =>
    runAction(call, {
      action: 'prioritize',
      priority: call.positionals[0] as JobActionRequest['priority'],
    }),
});
