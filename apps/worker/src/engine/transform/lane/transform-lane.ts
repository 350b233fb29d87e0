/**
 * The runs of one model that transforms pictures. Each turn runs the graph once, on rows of any jobs that wait at that moment: tiles of
 * pictures, or whole ones. No run waits for pictures to come.
 *
 *   arrived -> its rows in runs -> joined and posted     the states of a picture
 */
import { type Clock, LehrError, toPlainError } from '@lehr/shared';
import type { RowCap } from '../../lanes/row-cap.ts';
import { runInHalves } from '../../lanes/run-in-halves.ts';
import { RunProgress } from '../../lanes/run-progress.ts';
import type { TurnTaker } from '../../lanes/turns.ts';
import type { FromEngine, SampleId, TransformSample } from '../../protocol/messages.ts';
import type { PictureSize } from '../../values/resize.ts';
import type { TransformModel } from '../folder/transform-folder.ts';
import { workOf } from '../work.ts';
import { chooseRows } from './choose-rows.ts';
import { LaneWork, type OnEnd } from './lane-work.ts';

interface TransformLaneOptions {
  readonly name: string;
  readonly model: TransformModel;
  readonly cap: RowCap;
  /** Row counts that runs are padded to, for providers that tune per shape; empty for none. */
  readonly ladder: readonly number[];
  readonly clock: Clock;
  readonly post: (message: FromEngine) => void;
}

interface Row {
  readonly sample: LaneWork;
  readonly index: number;
}

export class TransformLane implements TurnTaker {
  readonly #options: TransformLaneOptions;
  readonly #progress: RunProgress<'rows' | 'tiles' | 'ms'>;
  /** In the order of their arrival. */
  #samples: LaneWork[] = [];
  #reportedCap: number | undefined;

  constructor(options: TransformLaneOptions) {
    this.#options = options;
    this.#progress = new RunProgress(options.clock, (sum) => {
      // A picture of another task has a progress of its own.
      const samples = this.#samples
        .filter(({ onEnd }) => !onEnd)
        .map(({ request, done, rows }) => ({ id: request.id, done, of: rows }));
      options.post({ type: 'transform-progress', lane: options.name, ...sum, samples });
    });
  }

  get hasWork(): boolean {
    return this.#samples.length > 0;
  }

  /** Throws LehrError `invalid-input` for pixels that are no picture of the stated size. */
  submit(request: TransformSample, onEnd?: OnEnd): void {
    const { model, clock } = this.#options;
    const { pixels, width, height, topK } = request;
    if (pixels.length !== width * height * 3 || pixels.length === 0) {
      const detail = `has ${pixels.length} bytes, wanted ${width}x${height} pixels of RGB`;
      throw new LehrError('invalid-input', `input.image ${detail}.`);
    }
    const work = workOf(model, request, topK);
    const levels = this.#samples.map((sample) => sample.level);
    const level = levels.length > 0 ? Math.min(...levels) : 0;
    this.#samples.push(
      new LaneWork(request, work, { level, now: clock.monotonic(), ...(onEnd && { onEnd }) }),
    );
    this.#reportCap();
  }

  /** Cancels a picture, of which nothing more is posted; returns false when there is no such picture. */
  cancel(id: SampleId): boolean {
    const sample = this.#samples.find(({ request }) => request.id === id);
    // A run may have rows of it; their results are dropped.
    if (sample) this.#drop(sample);
    return sample !== undefined;
  }

  /** One run. Never rejects: an error fails samples. */
  async takeTurn(): Promise<void> {
    const { cap, clock, post } = this.#options;
    const chosen = chooseRows(this.#samples, (size) => this.#mostRows(size));
    if (chosen.size === 0) return;
    const startedAt = clock.monotonic();
    const rows = [...chosen].flatMap(([sample, count]) =>
      Array.from({ length: count }, (): Row => ({ sample, index: sample.take(startedAt) })),
    );
    post({ type: 'running', samples: [...chosen.keys()].map(({ request }) => request.id) });
    let ran = 0;
    const isWhole = await runInHalves(rows, {
      run: async (part) => {
        ran += await this.#run(part.filter(({ sample }) => !sample.isDropped));
      },
      onSplit: (part, { code }) => {
        // The halves fail of the same shortage.
        if (code === 'out-of-memory' && part.length === rows.length) cap.limit(Math.floor(part.length / 2));
      },
      onFailed: ({ sample }, error) => this.#fail(sample, error),
    });
    const ms = clock.monotonic() - startedAt;
    if (isWhole && this.#isUsual(rows[0].sample.size)) cap.observe(ran, ms);
    this.#postEnded();
    this.#progress.addRun({ rows: ran, tiles: rows.length, ms }, !this.hasWork);
    this.#reportCap();
  }

  /** Returns how many rows the run had. */
  async #run(rows: readonly Row[]): Promise<number> {
    if (rows.length === 0) return 0;
    const { model, ladder, clock } = this.#options;
    const startedAt = clock.monotonic();
    const padTo = ladder.find((rung) => rung >= rows.length) ?? rows.length;
    const values = rows.map(({ sample, index }) => sample.row(index));
    const outputs = await model.graph.run(values, rows[0].sample.size, padTo);
    const endedAt = clock.monotonic();
    const samples = new Set(rows.map(({ sample }) => sample)).size;
    for (const [i, { sample }] of rows.entries()) {
      sample.deviceMs += (endedAt - startedAt) / rows.length;
      // What a graph makes of one row says nothing about the others of the run.
      try {
        if (!sample.isDropped) sample.add(outputs[i], samples, endedAt);
      } catch (error) {
        this.#fail(sample, error);
      }
    }
    return model.graph.fixedRows ?? padTo;
  }

  /** A run of larger rows has as many pixels as one of usual ones at most. */
  #mostRows(size: PictureSize): number {
    const { cap, model } = this.#options;
    const share = areaOf(model.usualSize) / areaOf(size);
    return Math.max(1, Math.floor(cap.rows * Math.min(1, share)));
  }

  #isUsual({ width, height }: PictureSize): boolean {
    const { usualSize } = this.#options.model;
    return width === usualSize.width && height === usualSize.height;
  }

  #postEnded(): void {
    const ended = this.#samples.filter(({ hasEnded }) => hasEnded);
    if (ended.length === 0) return;
    this.#samples = this.#samples.filter(({ hasEnded }) => !hasEnded);
    for (const sample of ended) (sample.onEnd ?? this.#options.post)(sample.result());
  }

  #fail(sample: LaneWork, error: unknown): void {
    if (sample.isDropped) return;
    this.#drop(sample);
    const failure = toPlainError(error, 'engine-failed');
    (sample.onEnd ?? this.#options.post)({ type: 'failed', sample: sample.request.id, failure });
  }

  #drop(sample: LaneWork): void {
    sample.isDropped = true;
    this.#samples = this.#samples.filter((other) => other !== sample);
  }

  #reportCap(): void {
    const { cap, name, post } = this.#options;
    if (cap.rows === this.#reportedCap) return;
    this.#reportedCap = cap.rows;
    post({ type: 'row-cap', lane: name, rows: cap.rows });
  }
}

const areaOf = ({ width, height }: PictureSize): number => width * height;
