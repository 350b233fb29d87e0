/** The command `lehr` as a process. */
import { text } from 'node:stream/consumers';
import { runCli } from './run.ts';

const stop = new AbortController();
// Only the first: whoever presses Ctrl-C again does not want to wait.
process.once('SIGINT', () => stop.abort());
process.once('SIGTERM', () => stop.abort());
// `lehr jobs | head` closes the pipe when it has seen enough.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
}

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  out: (line) => process.stdout.write(line),
  err: (line) => process.stderr.write(line),
  outIsTty: process.stdout.isTTY ?? false,
  errIsTty: process.stderr.isTTY ?? false,
  // A terminal that does not know its width says 0.
  columns: process.stdout.columns || process.stderr.columns || 80,
  signal: stop.signal,
  readStdin: () => text(process.stdin),
});
