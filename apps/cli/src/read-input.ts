import { readFile } from 'node:fs/promises';
import { CliError, EXIT } from './exit-codes.ts';

/** Reads a file that the command line names. Throws CliError when it cannot be read. */
export async function readInput(path: string): Promise<Buffer<ArrayBuffer>> {
  try {
    return (await readFile(path)) as Buffer<ArrayBuffer>;
  } catch (cause) {
    throw new CliError(EXIT.noInput, `${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
}
