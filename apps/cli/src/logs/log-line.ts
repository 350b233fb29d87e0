/** A log line of an API or a worker: which jobs it is about, and how a person reads it. */
import { plain } from '../table.ts';

export interface LogLine {
  readonly time: string;
  readonly app: string;
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** Undefined for what is not a line of Lehr's log. */
export function parseLogLine(text: string): LogLine | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const line = JSON.parse(text) as Partial<LogLine>;
    const isWhole = [line.time, line.app, line.level, line.msg].every((each) => typeof each === 'string');
    return isWhole ? (line as LogLine) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Which lines are about a job: those that name it, those of the nodes of its workflow, and, when its request was traced, those of its
 * trace. Ids are learned from the lines, so they must come in the order in which they were written.
 */
export class JobLines {
  readonly #ids: Set<string>;

  constructor(job: string) {
    this.#ids = new Set([job]);
  }

  includes(line: LogLine): boolean {
    const { job, jobs, workflow, trace } = line;
    const named = [job, workflow, trace, ...(Array.isArray(jobs) ? jobs : [])].filter(isText);
    if (!named.some((id) => this.#ids.has(id))) return false;
    // The lines of a batch name many jobs, which have nothing else in common.
    for (const id of [job, trace]) if (isText(id)) this.#ids.add(id);
    return true;
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';

const SHOWN_APART = new Set(['time', 'app', 'level', 'msg', 'pid']);
/** On the terminal of `npm start` longer values are cut; `lehr logs` has them whole. */
const MAX_SHOWN = 120;

/** One line with the time of day, the process, the level, the message and the other fields; below it, the stack of an error. */
export function readableLine(
  { time, app, level, msg, ...fields }: LogLine,
  maxValue = Number.POSITIVE_INFINITY,
): string {
  const rest = Object.entries(fields)
    .filter(([name]) => !SHOWN_APART.has(name))
    .map(([name, value]) => `${name}=${cut(name === 'error' ? withoutStack(value) : value, maxValue)}`);
  const clock = time.slice(11, 23);
  const line = `${clock}  ${app.padEnd(6)}  ${level.padEnd(5)}  ${[msg, ...rest].join('  ')}`;
  return plain([line.replaceAll('\n', ' '), ...stackOf(fields.error)].join('\n'));
}

function cut(value: unknown, max: number): string {
  const text = isText(value) ? value : JSON.stringify(value);
  return text.length > max ? `${text.slice(0, max)}...` : text;
}

const isError = (value: unknown): value is { readonly stack: string } =>
  typeof value === 'object' && value !== null && 'stack' in value && isText(value.stack);

const withoutStack = (value: unknown): unknown => (isError(value) ? { ...value, stack: undefined } : value);
const stackOf = (value: unknown): string[] => (isError(value) ? value.stack.split('\n').slice(1) : []);

/** A line of the output of a process, as `npm start` shows it; `source` names the process where the line is no log entry of Lehr. */
export function shownLine(source: string, text: string): string {
  const line = parseLogLine(text);
  return line ? readableLine(line, MAX_SHOWN) : `${source}: ${plain(text)}`;
}
