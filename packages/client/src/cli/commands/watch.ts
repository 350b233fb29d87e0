import { LehrError } from '../../lehr-error.ts';
import { defineCommand } from '../command.ts';
import { exitCodeOfJob } from '../exit-codes.ts';
import { jobText } from '../job-text.ts';
import { type ProgressView, progressBar, progressLines } from '../progress.ts';

export const watch = defineCommand({
  name: 'watch',
  operands: 'JOB',
  count: [1, 1],
  summary: 'Follow a job until it is over.',
  notes: [
    'A bar on a terminal, else a line for each event; --json writes each event as one line.',
    'A lost connection is made again, and nothing is missed.',
  ],
  options: {
    after: { type: 'string', value: 'ID', help: 'Only what came after this event.' },
  },
  run: async ({ values, positionals: [id], terminal, json, client }) => {
    const lehr = await client();
    const { signal } = terminal;
    const view = viewOf(terminal, json);
    try {
      for await (const event of lehr.stream(id, { signal, after: values.after, previews: false }))
        view.show(event);
    } finally {
      view.end();
    }
    // The stream of a job that was over already may be empty.
    const job = await lehr.get(id, { signal }).catch((error) => {
      if (error instanceof LehrError && error.code === 'not-found') {
        throw new LehrError('not-found', `${id} was deleted.`, error);
      }
      throw error;
    });
    if (!json) terminal.out(jobText(job));
    return exitCodeOfJob(job);
  },
});

function viewOf(terminal: Parameters<typeof watch.run>[0]['terminal'], json: boolean): ProgressView {
  const write = (text: string): void => terminal.out(text);
  if (json) return { show: (event) => write(`${JSON.stringify(event)}\n`), end: () => {} };
  return terminal.outIsTty ? progressBar(write, terminal.columns) : progressLines(write);
}
