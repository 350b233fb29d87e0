/** What a command is: options that parse and explain themselves, and what to do. */
import { parseArgs } from 'node:util';
import type { Lehr } from '../lehr.ts';
import { type ExitCode, usageError } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

interface Option {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  readonly multiple?: boolean;
  /** What stands for its value in the help. */
  readonly value?: string;
  readonly help: string;
}
export type Options = Readonly<Record<string, Option>>;

export type Values<O extends Options> = {
  readonly [Name in keyof O]?: O[Name] extends { type: 'boolean' }
    ? boolean
    : O[Name] extends { multiple: true }
      ? readonly string[]
      : string;
};

export interface Call<O extends Options = Options> {
  readonly values: Values<O>;
  readonly positionals: readonly string[];
  readonly terminal: Terminal;
  /** Whether to write for programs. */
  readonly json: boolean;
  /** Where Lehr is, and whether there is a key for it. */
  readonly url: string;
  /** Throws CliError when there is no key. */
  client(): Promise<Lehr>;
}

export interface Command {
  /** One word, or two: `keys create`. */
  readonly name: string;
  /** What stands behind the options, as in `JOB...`. */
  readonly operands: string;
  /** How many of them there may be. */
  readonly count: readonly [least: number, most: number];
  readonly summary: string;
  /** Lines below the options. */
  readonly notes?: readonly string[];
  readonly options: Options;
  run(call: Call): Promise<ExitCode>;
}

/** Keeps the options' own types for `run`. */
export function defineCommand<const O extends Options>(
  command: Omit<Command, 'options' | 'run'> & {
    readonly options: O;
    run(call: Call<O>): Promise<ExitCode>;
  },
): Command {
  return command as Command;
}

export const COMMON = {
  url: { type: 'string', value: 'URL', help: 'Where Lehr is. Else LEHR_URL, else this machine.' },
  'api-key': { type: 'string', value: 'KEY', help: 'Your key. Better LEHR_API_KEY: others can see this.' },
  json: { type: 'boolean', help: 'Write JSON, for programs.' },
  help: { type: 'boolean', short: 'h', help: 'Show this.' },
} as const satisfies Options;

export interface Parsed {
  readonly values: Values<typeof COMMON> & Values<Options>;
  readonly positionals: readonly string[];
}

/** Throws CliError for what the command does not take. */
export function parseFor(command: Command, args: readonly string[]): Parsed {
  const options = Object.fromEntries(
    Object.entries({ ...command.options, ...COMMON }).map(
      ([name, { type, short, multiple }]: [string, Option]) => [
        name,
        { type, ...(short !== undefined && { short }), ...(multiple && { multiple }) },
      ],
    ),
  );
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    return { values: values as Parsed['values'], positionals };
  } catch (error) {
    throw usageError((error as Error).message.split('. ')[0]);
  }
}

export function checkCount(
  { count: [least, most], operands }: Command,
  positionals: readonly string[],
): void {
  if (positionals.length < least) throw usageError(`${operands} is missing`);
  if (positionals.length > most) {
    throw usageError(
      `${JSON.stringify(positionals[most])} is one too many${most === 1 ? '; quote words that belong together' : ''}`,
    );
  }
}

export function helpOf({ name, operands, summary, notes = [], options }: Command): string {
  const rows = Object.entries({ ...options, ...COMMON }).map(
    ([long, { short, value, help }]: [string, Option]) => [
      `${short ? `-${short}, ` : '    '}--${long}${value ? ` ${value}` : ''}`,
      help,
    ],
  );
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  const lines = rows.map(([left, help]) => `  ${left.padEnd(width)}${help}`);
  const usage = ['lehr', name, '[options]', operands].filter(Boolean).join(' ');
  return `${[`Usage: ${usage}`, '', summary, '', 'Options:', ...lines, ...(notes.length > 0 ? ['', ...notes] : [])].join('\n')}\n`;
}

/** The value of an option as a number. Throws CliError when it is none. */
export function numberOf(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number))
    throw usageError(`--${name} is ${JSON.stringify(value)}, wanted a number`);
  return number;
}
