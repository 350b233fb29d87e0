/**
 * The program behind `lehr backup` and `lehr restore`. Its argument is a JSON object; it prints JSON lines (event.ts). The exit code is
 * 1 when the command failed; the last line says why.
 */
import { ConfigError, type PlainError, PRIVATE_UMASK, toPlainError, unreachable } from '@lehr/shared';
import { type BackupRequest, backup, list } from './backup.ts';
import type { BackupEvent } from './event.ts';
import { type RestoreRequest, restore } from './restore.ts';
import { readBackupSettings } from './settings.ts';

type Request =
  | ({ readonly command: 'backup' | 'list' } & BackupRequest)
  | ({ readonly command: 'restore' } & RestoreRequest);

const print = (event: BackupEvent): void => void process.stdout.write(`${JSON.stringify(event)}\n`);

async function run(request: Request, signal: AbortSignal): Promise<void> {
  const settings = await readBackupSettings(process.env);
  switch (request.command) {
    case 'backup':
      return backup(request, settings, print, signal);
    case 'list':
      return list(request, settings, print, signal);
    case 'restore':
      return restore(request, settings, print, signal);
    default:
      return unreachable(request);
  }
}

const failureOf = (error: unknown): PlainError =>
  error instanceof ConfigError ? { code: 'invalid-request', message: error.message } : toPlainError(error);

process.umask(PRIVATE_UMASK);
const stopped = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopped.abort());
// The pipe from `lehr` ends with its process. A container has none, and its standard input ends at once: only a pipe counts.
if (process.argv[3] === '--from-lehr') {
  process.stdin.once('end', () => stopped.abort()).resume();
  process.stdin.unref();
}
await run(JSON.parse(process.argv[2] ?? '{}') as Request, stopped.signal).catch((error: unknown) => {
  print({ type: 'failed', ...failureOf(error) });
  process.exitCode = 1;
});
// Connections of the S3 client stay open for a while.
process.exit();
