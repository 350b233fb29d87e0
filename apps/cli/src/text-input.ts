/** The texts of a command, and the options that all commands of texts have. */
import type { Options } from './command.ts';
import { usageError } from './exit-codes.ts';
import { readInput } from './read-input.ts';
import type { Terminal } from './terminal.ts';

export const TEXT_OPTIONS = {
  file: {
    type: 'string',
    short: 'f',
    value: 'PATH',
    help: 'Take the texts from this file, one a line; - is standard input.',
  },
  durability: {
    type: 'string',
    value: 'KIND',
    help: 'none: a small request may run without a record of its job. Default: stored.',
  },
  truncate: { type: 'boolean', help: 'Cut texts that are longer than the model takes.' },
} as const satisfies Options;

/** The operands, or the lines of `file` that are not empty. Throws CliError. */
export async function textsOf(
  operands: readonly string[],
  file: string | undefined,
  { readStdin }: Pick<Terminal, 'readStdin'>,
): Promise<string[]> {
  if (file !== undefined && operands.length > 0) throw usageError('give texts or --file, not both');
  if (file === undefined) {
    if (operands.length === 0) throw usageError('TEXT is missing; or give --file');
    return [...operands];
  }
  const content = file === '-' ? await readStdin() : (await readInput(file)).toString('utf8');
  const lines = content.split(/\r?\n/).filter((line) => line !== '');
  if (lines.length === 0) throw usageError(`--file ${JSON.stringify(file)} has no text`);
  return lines;
}
