import { jobsText, type ListedBackup, runBackupProgram } from '../backup-program.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { bytesText, plain, tableOf } from '../table.ts';

export const backup = defineCommand({
  name: 'backup',
  operands: 'WHERE',
  count: [1, 1],
  summary: 'Store all keys of Redis, as they are at one moment, in a bucket or a folder.',
  notes: [
    'WHERE is s3://BUCKET/PREFIX or a folder. Run it with the variables of the server and the user of an operator in',
    'LEHR_REDIS_URL. It needs redis-cli and redis-check-rdb, which come with Redis.',
  ],
  options: {
    rdb: {
      type: 'string',
      value: 'FILE',
      help: 'Store this dump instead, such as a snapshot of a managed Redis.',
    },
  },
  run: async ({ values: { rdb }, positionals: [where], terminal, json }) => {
    const request = { command: 'backup', where, ...(rdb !== undefined && { rdb }) };
    const { type: _, ...stored } = await runBackupProgram(terminal, request, 'stored');
    const { id, keys, unfinished_jobs: jobs, bytes } = stored;
    const text = `${id}  ${keys} keys, ${jobsText(jobs)} unfinished jobs, ${bytesText(bytes)}`;
    terminal.out(json ? `${JSON.stringify(stored)}\n` : `${plain(text)}\n`);
    return EXIT.ok;
  },
});

export const listBackups = defineCommand({
  name: 'backup list',
  operands: 'WHERE',
  count: [1, 1],
  summary: 'List the complete backups in a bucket or a folder, oldest first.',
  options: {},
  run: async ({ positionals: [where], terminal, json }) => {
    const { backups, unreadable } = await runBackupProgram(terminal, { command: 'list', where }, 'list');
    const head = ['BACKUP', 'LEHR', 'SCHEMA', 'KEYS', 'UNFINISHED JOBS', 'SIZE'];
    terminal.out(json ? `${JSON.stringify(backups)}\n` : tableOf(head, backups.map(rowOf)));
    for (const id of unreadable)
      terminal.err(`lehr: the manifest of backup ${plain(id)} is damaged, or of a later version of Lehr.\n`);
    return unreadable.length === 0 ? EXIT.ok : EXIT.refused;
  },
});

const rowOf = ({ id, lehr, schema, keys, unfinished_jobs: jobs, bytes }: ListedBackup): string[] => [
  id,
  lehr,
  String(schema),
  String(keys),
  jobs === null ? 'unknown' : String(jobs),
  bytesText(bytes),
];
