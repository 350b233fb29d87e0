/** Schedules: create, list, pause, resume and delete them. */
import type { Schedule, ScheduleRequest } from '@lehr/client';
import { defineCommand } from '../command.ts';
import { EXIT, usageError } from '../exit-codes.ts';
import { readInput } from '../read-input.ts';
import { plain, tableOf } from '../table.ts';

const timesOf = ({ cron, timezone, every_s }: Schedule): string =>
  cron === null ? `every ${every_s} s` : `${plain(cron)} ${plain(timezone ?? '')}`;
const short = (time: string | undefined): string => time?.replace(/\.\d+Z$/, 'Z') ?? '';
const lineOf = (schedule: Schedule): string =>
  `${schedule.id} ${schedule.status}, ${timesOf(schedule)}, next ${short(schedule.next_runs[0]) || 'never'}\n`;

export const listSchedules = defineCommand({
  name: 'schedules',
  operands: '',
  count: [0, 0],
  summary: 'List the schedules, with their next and their last runs.',
  options: {},
  run: async ({ terminal, json, client }) => {
    const schedules = await (await client()).schedules.list({ signal: terminal.signal });
    const rows = schedules.map((each) => [
      each.id,
      plain(each.name),
      each.status,
      timesOf(each),
      short(each.next_runs[0]),
      each.last_runs[0]?.status ?? '',
    ]);
    const head = ['SCHEDULE', 'NAME', 'STATUS', 'TIMES', 'NEXT', 'LAST'];
    terminal.out(json ? `${JSON.stringify({ data: schedules })}\n` : tableOf(head, rows));
    return EXIT.ok;
  },
});

export const createSchedule = defineCommand({
  name: 'schedules create',
  operands: 'FILE',
  count: [1, 1],
  summary: 'Create a schedule from the body of POST /v1/schedules in JSON; - is standard input.',
  options: {},
  run: async ({ positionals: [path], terminal, json, client }) => {
    const text = path === '-' ? await terminal.readStdin() : (await readInput(path)).toString();
    const schedule = await (await client()).schedules.create(parsed(text), { signal: terminal.signal });
    terminal.out(json ? `${JSON.stringify(schedule)}\n` : lineOf(schedule));
    return EXIT.ok;
  },
});

/** The server validates it. */
function parsed(text: string): ScheduleRequest {
  try {
    return JSON.parse(text) as ScheduleRequest;
  } catch (error) {
    throw usageError(`the schedule is not JSON: ${(error as Error).message}`);
  }
}

const changing = (name: string, summary: string, paused: boolean) =>
  defineCommand({
    name: `schedules ${name}`,
    operands: 'ID',
    count: [1, 1],
    summary,
    options: {},
    run: async ({ positionals: [id], terminal, json, client }) => {
      const changed = await (await client()).schedules.change(id, { paused }, { signal: terminal.signal });
      terminal.out(json ? `${JSON.stringify(changed)}\n` : lineOf(changed));
      return EXIT.ok;
    },
  });

export const pauseSchedule = changing('pause', 'Make no more jobs of a schedule.', true);
export const resumeSchedule = changing('resume', 'Go on with a schedule, at its next time.', false);

export const deleteSchedule = defineCommand({
  name: 'schedules delete',
  operands: 'ID',
  count: [1, 1],
  summary: 'Delete a schedule. Its jobs stay.',
  options: {},
  run: async ({ positionals: [id], terminal, json, client }) => {
    await (await client()).schedules.delete(id, { signal: terminal.signal });
    terminal.out(json ? `${JSON.stringify({ deleted: id })}\n` : `deleted: ${plain(id)}\n`);
    return EXIT.ok;
  },
});
