import { jobsText, runBackupProgram } from '../backup-program.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { plain } from '../table.ts';

export const restore = defineCommand({
  name: 'restore',
  operands: 'WHERE',
  count: [1, 1],
  summary: 'Bring a backup into an empty Redis.',
  notes: [
    'WHERE is as in lehr backup. Stop every API and worker first. It refuses a Redis that has keys, a backup whose checksum',
    'differs, and a backup of another schema. It needs redis-server, which loads the backup for the copy.',
  ],
  options: {
    backup: {
      type: 'string',
      value: 'ID',
      help: 'Which one, as lehr backup list shows it. Default: the newest.',
    },
  },
  run: async ({ values: { backup }, positionals: [where], terminal, json }) => {
    const request = { command: 'restore', where, ...(backup !== undefined && { backup }) };
    const { type: _, ...result } = await runBackupProgram(terminal, request, 'restored');
    const { id, restored, expired, unfinished_jobs: jobs } = result;
    const text = `${id} is restored: ${restored} keys, ${jobsText(jobs)} unfinished jobs; ${expired} keys had expired`;
    terminal.out(json ? `${JSON.stringify(result)}\n` : `${plain(text)}\n`);
    return EXIT.ok;
  },
});
