import { LehrError } from '@lehr/client';
import { defineCommand } from '../command.ts';
import { exitCodeOfJob } from '../exit-codes.ts';
import { jobText } from '../job-text.ts';
import { type ProgressView, progressBar, progressLines } from '../progress.ts';

export const watch = defineCommand({
  name: 'watch',
  operands: 'JOB',
  count: [1, 1],
  summary: 'Follow a job until it has ended.',
  notes: [
    'Shows a progress bar on a terminal, otherwise a line for each event; --json writes each event as a line of JSON.',
    'Reconnects when the connection breaks, and misses no event.',
  ],
  options: {
    after: { type: 'string', value: 'ID', help: 'Show only the events after this one.' },
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
    // The stream does not carry the job when --after names its last event.
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
