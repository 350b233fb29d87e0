import { join } from 'node:path';
import { type Call, defineCommand } from '../command.ts';
import { EXIT, usageError } from '../exit-codes.ts';
import { followFiles, logFilesIn, type Place, readLines } from '../logs/log-files.ts';
import { JobLines, type LogLine, parseLogLine, readableLine } from '../logs/log-line.ts';
import { homeOf } from '../settings.ts';

const OPTIONS = {
  file: {
    type: 'string',
    multiple: true,
    value: 'FILE',
    help: 'A log file, or - for standard input; may be repeated.',
  },
  follow: { type: 'boolean', short: 'f', help: 'Wait for more lines until Ctrl-C.' },
} as const;

export const logs = defineCommand({
  name: 'logs',
  operands: '[JOB]',
  count: [0, 1],
  summary: 'Show the logs of all processes of this machine in one order, of all jobs or of one.',
  notes: [
    'Reads the log files that npm start keeps in LEHR_HOME/logs, or those that you name. Asks no server and needs no key.',
    'With JOB: its lines, those of the nodes of its workflow, and those of its trace.',
  ],
  options: OPTIONS,
  run: async ({ values, positionals: [job], terminal, json }: Call<typeof OPTIONS>) => {
    if (values.follow && values.file?.includes('-')) {
      throw usageError('--follow cannot wait for standard input: name files, or leave one of the two out');
    }
    const { lines, places } = await readAll(values.file, terminal);
    const ofJob = job === undefined ? undefined : new JobLines(job);
    const show = (text: string, line: LogLine): void => {
      if (!ofJob || ofJob.includes(line)) terminal.out(`${json ? text : readableLine(line)}\n`);
    };
    for (const [text, line] of inOrder(lines)) show(text, line);
    if (!values.follow) return EXIT.ok;
    const showNext = (text: string): void => {
      const line = parseLogLine(text);
      if (line) show(text, line);
    };
    await followFiles(places, showNext, terminal.signal);
    return EXIT.ok;
  },
});

async function readAll(
  named: readonly string[] | undefined,
  { env, readStdin }: Call['terminal'],
): Promise<{ lines: readonly string[]; places: ReadonlyMap<string, Place> }> {
  const paths = named ?? (await logFilesIn(join(homeOf(env), 'logs')));
  const lines: string[][] = [];
  const places = new Map<string, Place>();
  for (const path of new Set(paths)) {
    if (path === '-') {
      lines.push((await readStdin()).split('\n'));
      continue;
    }
    const read = await readLines(path);
    lines.push(read.lines);
    places.set(path, read.place);
  }
  return { lines: lines.flat(), places };
}

/** The lines of all files by their times; lines of the same time keep the order of their file. */
const inOrder = (texts: readonly string[]): (readonly [string, LogLine])[] =>
  texts
    .flatMap((text) => {
      const line = parseLogLine(text);
      return line ? [[text, line] as const] : [];
    })
    .sort(([, a], [, b]) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
