/** What the program of `lehr backup` and `lehr restore` prints, one JSON line each. The command (apps/cli) reads them. */
import type { PlainError } from '@lehr/shared';
import type { ListedBackup } from './manifest.ts';

export type BackupEvent =
  | {
      readonly type: 'progress';
      readonly stage: 'dump' | 'check' | 'upload' | 'download' | 'copy';
      /** Bytes of the dump, or keys while they are copied. */
      readonly done: number;
      readonly total: number | null;
    }
  | ({ readonly type: 'stored' } & ListedBackup)
  | {
      readonly type: 'list';
      readonly backups: readonly ListedBackup[];
      /** Ids of complete backups whose manifest is damaged, or of a later version. */
      readonly unreadable: readonly string[];
    }
  | ({
      readonly type: 'restored';
      /** Keys written, and keys of the backup whose life ended before they were. */
      readonly restored: number;
      readonly expired: number;
    } & ListedBackup)
  | ({ readonly type: 'failed' } & PlainError);

export type Report = (event: BackupEvent) => void;
