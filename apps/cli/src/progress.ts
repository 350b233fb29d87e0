/** Shows a job's events: as a progress bar on a terminal, otherwise as one line for each event. */
import type { FollowedEvent, JobEvent } from '@lehr/client';
import { stateText } from './job-text.ts';
import { plain } from './table.ts';
import type { Terminal } from './terminal.ts';

export interface ProgressView {
  show(event: FollowedEvent): void;
  /** Erases the bar. */
  end(): void;
}

const BAR_WIDTH = 24;
export const ERASE_LINE = '\r\x1b[2K';
const LINE_EVERY_PERCENT = 10;

export function progressBar(write: (text: string) => void, columns: number): ProgressView {
  return {
    show: (event) => {
      const line = barText(event);
      if (line !== undefined) write(`${ERASE_LINE}${line.slice(0, columns - 1)}`);
    },
    end: () => write(ERASE_LINE),
  };
}

export const progressLines = (write: (text: string) => void): ProgressView => ({
  show: (event) => {
    const line = lineText(event);
    if (line !== undefined) write(`${event.timestamp} ${line}\n`);
  },
  end: () => {},
});

/** The bar, as in `denoise  [########----------------]  33 %  10/30`. Undefined for an event that does not change it. */
function barText(event: JobEvent): string | undefined {
  switch (event.type) {
    case 'job.scheduled':
      return progressText(0, 'scheduled', '');
    case 'job.queued':
      return progressText(0, 'queued', '');
    case 'job.started':
      return progressText(0, 'running', '');
    case 'job.progress': {
      const { fraction, stage, step, steps } = event.data;
      return progressText(fraction, stage, `${step}/${steps}`);
    }
    default:
      return undefined;
  }
}

/** A bar of the fraction that is done, between a word and an amount. */
function progressText(fraction: number, stage: string, steps: string): string {
  const done = Math.round(fraction * BAR_WIDTH);
  const drawn = '#'.repeat(done).padEnd(BAR_WIDTH, '-');
  return `${stage.padEnd(10)} [${drawn}] ${String(Math.floor(fraction * 100)).padStart(3)} %  ${steps}`.trimEnd();
}

/** One line of text for an event. Undefined for a preview, which is a picture. */
function lineText(event: JobEvent): string | undefined {
  switch (event.type) {
    case 'job.scheduled':
      return 'scheduled';
    case 'job.queued':
      return 'queued';
    case 'job.started':
      return 'running';
    case 'job.progress': {
      const { fraction, stage, step, steps } = event.data;
      return `${Math.floor(fraction * 100)} % ${stage} ${step}/${steps}`;
    }
    case 'job.preview':
      return undefined;
    case 'job.output':
      return `text: ${plain(event.data.text)}`;
    default:
      // A newer server may send events that this client does not know.
      return 'status' in event.data ? stateText(event.data) : undefined;
  }
}

/** Shows how far a work is: as a bar on a terminal, otherwise as a line for every tenth. */
export function fractionView(
  { err, errIsTty, columns }: Pick<Terminal, 'err' | 'errIsTty' | 'columns'>,
  stage: string,
): (fraction: number, amount: string) => void {
  let nextPercent = 0;
  return (fraction, amount) => {
    if (errIsTty) return err(`${ERASE_LINE}${progressText(fraction, stage, amount).slice(0, columns - 1)}`);
    if (fraction * 100 < nextPercent) return;
    nextPercent = Math.floor((fraction * 100) / LINE_EVERY_PERCENT + 1) * LINE_EVERY_PERCENT;
    err(`${Math.floor(fraction * 100)} % ${stage} ${amount}\n`);
  };
}
