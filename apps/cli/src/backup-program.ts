/** Runs the server's program for backups (apps/api/src/backup), which needs Redis and an S3 client. */
import { runServerProgram, serverProgram } from './server-program.ts';
import { bytesText } from './table.ts';
import type { Terminal } from './terminal.ts';

export interface ListedBackup {
  readonly id: string;
  readonly taken_at: string;
  readonly lehr: string;
  readonly schema: number;
  readonly keys: number;
  /** Null for a dump that another program made. */
  readonly unfinished_jobs: number | null;
  readonly bytes: number;
}

/** The lines of the program, as its event.ts defines them. */
type BackupEvent =
  | {
      readonly type: 'progress';
      readonly stage: 'dump' | 'check' | 'upload' | 'download' | 'copy';
      readonly done: number;
      readonly total: number | null;
    }
  | ({ readonly type: 'stored' } & ListedBackup)
  | {
      readonly type: 'list';
      readonly backups: readonly ListedBackup[];
      readonly unreadable: readonly string[];
    }
  | ({ readonly type: 'restored'; readonly restored: number; readonly expired: number } & ListedBackup);

type Result = 'stored' | 'list' | 'restored';

/** Shows the progress on a terminal. Throws CliError with the program's error. */
export function runBackupProgram<Type extends Result>(
  terminal: Terminal,
  request: Readonly<Record<string, unknown>>,
  wanted: Type,
) {
  const args = [JSON.stringify(request), '--from-lehr'];
  let shown = '';
  return runServerProgram<BackupEvent, Type>(
    serverProgram('api', 'backup'),
    args,
    terminal,
    wanted,
    (event) => {
      if (event.type !== 'progress' || !terminal.errIsTty) return;
      const { stage, done, total } = event;
      const amount = stage === 'copy' ? `${done} keys` : bytesText(done);
      const line = total === null ? stage : `${stage} ${amount}`;
      terminal.err(`\r${line.padEnd(shown.length)}`);
      shown = line;
    },
  ).finally(() => {
    if (shown !== '') terminal.err(`\r${' '.repeat(shown.length)}\r`);
  });
}

export const jobsText = (jobs: number | null): string =>
  jobs === null ? 'an unknown number of' : String(jobs);
