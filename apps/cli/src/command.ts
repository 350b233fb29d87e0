/** A command of `lehr`: its options, its help text and its function. */

import { parseArgs } from 'node:util';
import type { Lehr } from '@lehr/client';
import { type ExitCode, usageError } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

interface Option {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  readonly multiple?: boolean;
  /** The placeholder of its value in the help text. */
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
  /** Whether to write JSON. */
  readonly json: boolean;
  /** The address of Lehr. */
  readonly url: string;
  /** Throws CliError when there is no key. */
  client(): Promise<Lehr>;
}

export interface Command {
  /** One word, or two as in `keys create`. */
  readonly name: string;
  /** The arguments after the options in the help text, as in `JOB...`. */
  readonly operands: string;
  /** The allowed number of these arguments. */
  readonly count: readonly [min: number, max: number];
  readonly summary: string;
  /** Lines of the help text below the options. */
  readonly notes?: readonly string[];
  readonly options: Options;
  run(call: Call): Promise<ExitCode>;
}

/** Gives `run` the types of the command's own options. */
export function defineCommand<const O extends Options>(
  command: Omit<Command, 'options' | 'run'> & {
    readonly options: O;
    run(call: Call<O>): Promise<ExitCode>;
  },
): Command {
  return command as Command;
}

const COMMON = {
  url: { type: 'string', value: 'URL', help: 'Address of Lehr. Default: LEHR_URL, else this machine.' },
  'api-key': {
    type: 'string',
    value: 'KEY',
    help: 'Your key. LEHR_API_KEY is safer: other users can see arguments.',
  },
  json: { type: 'boolean', help: 'Write JSON.' },
  help: { type: 'boolean', short: 'h', help: 'Show this help.' },
} as const satisfies Options;

export interface Parsed {
  readonly values: Values<typeof COMMON> & Values<Options>;
  readonly positionals: readonly string[];
}

/** Throws CliError for an unknown option and for a missing value. */
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

export function checkCount({ count: [min, max], operands }: Command, positionals: readonly string[]): void {
  if (positionals.length < min) throw usageError(`${operands} is missing`);
  if (positionals.length > max) {
    const hint = max === 1 ? '; quote an argument that has spaces' : '';
    throw usageError(`unexpected argument ${JSON.stringify(positionals[max])}${hint}`);
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

/** Parses the value of an option as a number. Throws CliError when it is not a number. */
export function numberOf(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number))
    throw usageError(`--${name} is ${JSON.stringify(value)}, expected a number`);
  return number;
}
