/** The command `lehr` as a process. */
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { runCli } from './run.ts';

const stop = new AbortController();
// Only the first signal is handled: a second Ctrl-C ends the process at once.
process.once('SIGINT', () => stop.abort());
process.once('SIGTERM', () => stop.abort());
// `lehr jobs | head` closes the pipe early: that is not an error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
}

/** The question goes to standard error, so that standard output has only results. */
async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // Readline reads Ctrl-C as a key: no signal comes.
  lines.once('SIGINT', () => stop.abort());
  try {
    return await lines.question(question, { signal: stop.signal });
  } catch (error) {
    if (stop.signal.aborted) throw error;
    // Ctrl-D.
    return '';
  } finally {
    lines.close();
  }
}

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  out: (line) => process.stdout.write(line),
  err: (line) => process.stderr.write(line),
  outIsTty: process.stdout.isTTY ?? false,
  errIsTty: process.stderr.isTTY ?? false,
  // The width is 0 in some terminals.
  columns: process.stdout.columns || process.stderr.columns || 80,
  signal: stop.signal,
  readStdin: () => text(process.stdin),
  ...(process.stdin.isTTY && process.stderr.isTTY && { ask }),
});
