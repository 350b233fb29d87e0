import { realpath } from 'node:fs/promises';
import { isAbsolute, relative, resolve } from 'node:path';
import { type Lehr, LehrError } from '@lehr/client';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { mediaOf } from '../media.ts';

export const mcp = defineCommand({
  name: 'mcp',
  operands: '',
  count: [0, 0],
  summary: 'Serve Lehr as tools to an agent, over standard input and output (Model Context Protocol).',
  options: {
    files: {
      type: 'string',
      value: 'DIR',
      help: 'Let the agent name pictures and recordings in this folder by their paths. Default: none.',
    },
  },
  run: async ({ values: { files: folder }, terminal: { signal }, client }) => {
    // Loaded here: it would make every other command start later.
    const { serveStdio } = await import('@lehr/mcp');
    const lehr = await client();
    const reference = (source: string, ended: AbortSignal) => referenceOf(source, folder, lehr, ended);
    await serveStdio({ lehr, files: { reference } }, signal);
    return EXIT.ok;
  },
});

/** Throws LehrError for a path that is not below the folder, also through a link: an agent may have been talked into it. */
async function referenceOf(
  source: string,
  folder: string | undefined,
  lehr: Lehr,
  signal: AbortSignal,
): Promise<string> {
  if (/^(?:https?:|data:|file_)/.test(source)) return source;
  const refuse = (detail: string) => new LehrError('invalid-input', `${JSON.stringify(source)} ${detail}.`);
  if (folder === undefined)
    throw refuse('is neither a URL nor a data URI, and `lehr mcp` was started without --files');
  const path = await realpath(resolve(folder, source)).catch(() => undefined);
  const below = path === undefined ? undefined : relative(await realpath(folder), path);
  if (path === undefined || below === undefined) throw refuse('is not there');
  if (below.startsWith('..') || isAbsolute(below)) throw refuse(`is not in ${folder}`);
  return mediaOf(path, lehr, signal);
}
