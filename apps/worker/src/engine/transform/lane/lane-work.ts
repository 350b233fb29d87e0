/** One picture in a lane: which of its rows have run, and when. */
import type { FromEngine, TransformedMessage, TransformSample } from '../../protocol/messages.ts';
import type { PictureSize } from '../../values/resize.ts';
import type { RowOutput } from '../transform-graph.ts';
import type { Work } from '../work.ts';
import type { RowSample } from './choose-rows.ts';

/** Called in place of posting the end of a picture, for one that another task goes on with. */
export type OnEnd = (end: TransformedMessage | Extract<FromEngine, { type: 'failed' }>) => void;

export class LaneWork implements RowSample {
  readonly request: TransformSample;
  readonly onEnd: OnEnd | undefined;
  readonly #work: Work;
  readonly #arrivedAt: number;
  readonly #level: number;
  /** Of the runs of its rows, the share of these rows. */
  deviceMs = 0;
  isDropped = false;
  #taken = 0;
  #done = 0;
  #startedAt = 0;
  #endedAt = 0;
  /** Sum of the samples in the runs of its rows. */
  #mates = 0;

  constructor(
    request: TransformSample,
    work: Work,
    { level, now, onEnd }: { readonly level: number; readonly now: number; readonly onEnd?: OnEnd },
  ) {
    this.request = request;
    this.onEnd = onEnd;
    this.#work = work;
    this.#level = level;
    this.#arrivedAt = now;
  }

  get size(): PictureSize {
    return this.#work.size;
  }

  get rows(): number {
    return this.#work.rows;
  }

  get done(): number {
    return this.#done;
  }

  get waiting(): number {
    return this.#work.rows - this.#taken;
  }

  get level(): number {
    return this.#level + this.#taken;
  }

  get maxBatchMates(): number {
    return this.request.maxBatchMates;
  }

  get hasEnded(): boolean {
    return this.#done === this.#work.rows;
  }

  /** The index of its next row, which is in a run from now on. */
  take(now: number): number {
    this.#startedAt ||= now;
    return this.#taken++;
  }

  row(index: number): Float32Array {
    return this.#work.row(index);
  }

  /** The result of the oldest row that has none. Throws LehrError `numeric-error`, and `engine-failed` for one of another shape. */
  add(output: RowOutput, samples: number, now: number): void {
    this.#work.add(output);
    this.#done += 1;
    this.#mates += samples;
    this.#endedAt = now;
  }

  result(): TransformedMessage {
    return {
      type: 'transformed',
      sample: this.request.id,
      result: this.#work.result(),
      tiles: this.#work.rows,
      batchSize: this.#mates / this.#work.rows,
      timings: {
        startedAt: this.#startedAt - this.#arrivedAt,
        endedAt: this.#endedAt - this.#arrivedAt,
        deviceMs: this.deviceMs,
      },
    };
  }
}
