/**
 * Follows a batch and one page of its lines for a view, while the page is seen. What has become of a line is taken from the lines: its job
 * is no longer there soon after the end of its slice. A lost stream is opened again, until the batch has ended or the view stops.
 */
import { type Batch, type BatchLine, isOver } from '@lehr/client';
import { signal } from '@preact/signals';
import { type Fault, faultOf } from '../wire/fault.ts';
import { lehrOnce } from '../wire/lehr.ts';
import { pause } from '../wire/pause.ts';
import { whileSeen } from '../wire/while-seen.ts';
import { mayRecover, RECONNECT_MS } from './follow.ts';

const ENDS: readonly Batch['status'][] = ['completed', 'failed', 'expired', 'cancelled'];
export const hasEnded = ({ status }: Pick<Batch, 'status'>): boolean => ENDS.includes(status);

const isOpen = ({ job, error }: BatchLine): boolean => error === undefined && (!job || !isOver(job));

/** A page that is still not full after so many requests is short: each line of its batch has megabytes. */
const MAX_READS = 12;
/** The batch says when lines have ended; how far those are that run, only its lines say. */
const PROGRESS_EVERY_MS = 2_000;

export class FollowedBatch {
  readonly id: string;
  /** Undefined until it is read. */
  readonly batch = signal<Batch | undefined>(undefined);
  readonly lines = signal<readonly BatchLine[] | undefined>(undefined);
  readonly hasNext = signal(false);
  readonly hasPrevious = signal(false);
  /** Why nothing more can be shown: there is no such batch, or its lines are deleted. */
  readonly fault = signal<Fault | undefined>(undefined);
  /** Whether the connection is lost; what is shown is older. */
  readonly isLost = signal(false);
  readonly stop: () => void;
  readonly #pageSize: number;
  /** Of the pages before the shown one, and of it. */
  #cursors: readonly (string | undefined)[] = [undefined];
  #next: string | undefined;
  /** Counts the readings, so that an older answer never replaces a newer one. */
  #reading = 0;
  #shown = 0;

  constructor(id: string, pageSize: number) {
    this.id = id;
    this.#pageSize = pageSize;
    this.stop = whileSeen((stopped) => this.#follow(stopped));
  }

  showNext(): Promise<void> {
    return this.#turn([...this.#cursors, this.#next]);
  }

  showPrevious(): Promise<void> {
    return this.#turn(this.#cursors.slice(0, -1));
  }

  /** The lines with links that are signed now. */
  async refresh(): Promise<void> {
    await this.#read().catch((error) => this.#note(error));
  }

  async #turn(cursors: readonly (string | undefined)[]): Promise<void> {
    this.#cursors = cursors;
    this.#shown = this.#reading + 1;
    await this.refresh();
  }

  async #follow(stopped: AbortSignal): Promise<void> {
    void this.#watchProgress(stopped);
    while (!stopped.aborted) {
      try {
        for await (const { data } of lehrOnce.batches.stream(this.id, { signal: stopped })) {
          this.batch.value = data;
          await this.#read(stopped);
        }
        return;
      } catch (error) {
        if (stopped.aborted || !this.#note(error)) return;
      }
      await pause(RECONNECT_MS, stopped);
    }
  }

  async #watchProgress(stopped: AbortSignal): Promise<void> {
    while (!stopped.aborted && !(this.batch.value && hasEnded(this.batch.value))) {
      await pause(PROGRESS_EVERY_MS, stopped);
      if (this.lines.value?.some(isOpen)) await this.#read(stopped).catch(() => {});
    }
  }

  async #read(stopped?: AbortSignal): Promise<void> {
    this.#reading += 1;
    const reading = this.#reading;
    const lines: BatchLine[] = [];
    let cursor = this.#cursors.at(-1);
    // The API ends a page where a slice of the batch does.
    for (let reads = 0; reads < MAX_READS; reads += 1) {
      const page = { limit: this.#pageSize - lines.length, cursor, signal: stopped };
      const { data, next_cursor } = await lehrOnce.batches.lines(this.id, page);
      lines.push(...data);
      cursor = next_cursor ?? undefined;
      if (cursor === undefined || lines.length === this.#pageSize) break;
    }
    if (reading < this.#shown) return;
    this.#shown = reading;
    this.isLost.value = false;
    this.#next = cursor;
    this.lines.value = lines;
    this.hasNext.value = cursor !== undefined;
    this.hasPrevious.value = this.#cursors.length > 1;
  }

  /** Whether it is worth trying again. */
  #note(error: unknown): boolean {
    this.isLost.value = mayRecover(error);
    if (!this.isLost.value) this.fault.value = faultOf(error);
    return this.isLost.value;
  }
}
