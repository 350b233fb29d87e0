/** Writes the parts of a transcript's text to the job's event stream while the job runs. */
import type { Log } from '@lehr/shared';
import type { RecordStore } from '@lehr/shared/records';
import type { JobRun } from '../runs/job-run.ts';
import type { TextPart } from '../runs/transcript-builder.ts';

export class PartialTextWriter {
  readonly #records: RecordStore;
  readonly #log: Log;

  constructor(records: RecordStore, log: Log) {
    this.#records = records;
    this.#log = log;
  }

  /** A failed write is not retried: the whole text follows with the job's end. */
  write(run: JobRun, part: TextPart): void {
    const { id } = run.record;
    this.#records
      .apply([{ move: 'output', id, lease: run.lease, data: { text: part.text, offset: part.offset } }])
      .catch((error: unknown) => this.#log.debug({ job: id, error }, 'partial text could not be written'));
  }
}
