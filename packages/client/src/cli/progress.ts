/** Shows a job's events: as a progress bar on a terminal, otherwise as one line for each event. */
import type { FollowedEvent } from '../follow.ts';
import type { JobEvent } from '../wire.ts';
import { stateText } from './job-text.ts';
import { plain } from './table.ts';

export interface ProgressView {
  show(event: FollowedEvent): void;
  /** Erases the bar. */
  end(): void;
}

const BAR_WIDTH = 24;
const ERASE_LINE = '\r\x1b[2K';

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
export function barText(event: JobEvent): string | undefined {
  switch (event.type) {
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
export function progressText(fraction: number, stage: string, steps: string): string {
  const done = Math.round(fraction * BAR_WIDTH);
  const drawn = '#'.repeat(done).padEnd(BAR_WIDTH, '-');
  return `${stage.padEnd(10)} [${drawn}] ${String(Math.floor(fraction * 100)).padStart(3)} %  ${steps}`.trimEnd();
}

/** One line of text for an event. Undefined for a preview, which is a picture. */
export function lineText(event: JobEvent): string | undefined {
  switch (event.type) {
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
