/**
 * The engine: pictures (diffusion/, transform/), windows of audio (whisper/) and texts (text/) take turns on one device. Samples arrive as
 * messages, and their results leave as messages; queues and stores are the worker's part.
 *
 * Bulk samples have lanes apart from those of the other classes. These lanes pause while the others have work, but for a turn now and
 * then (lanes/turns.ts): a pause costs nothing, because the samples stay in memory as they are after their last step.
 */
import { toPlainError } from '@lehr/shared';
import { DiffusionLanes } from './diffusion/lane/diffusion-lanes.ts';
import type { EngineParts } from './lanes/model-lanes.ts';
import { isBulkNext, Turns, type TurnTaker } from './lanes/turns.ts';
import type { EngineSample, FromEngine, ModelToOpen, OpenedModel, SampleId } from './protocol/messages.ts';
import { TextLanes } from './text/lane/text-lanes.ts';
import { TransformLanes } from './transform/lane/transform-lanes.ts';
import { WhisperLanes } from './whisper/lane/whisper-lanes.ts';

/** The lanes of all tasks for some of the classes, and whose turn it is among them. */
interface Lanes {
  readonly diffusion: DiffusionLanes;
  readonly whisper: WhisperLanes;
  readonly text: TextLanes;
  readonly transform: TransformLanes;
  readonly turns: Turns;
}

export class Engine {
  readonly #parts: EngineParts;
  /** Of interactive and standard samples. */
  readonly #lanes: Lanes;
  readonly #bulk: Lanes;
  /** Since when bulk lanes pause; undefined while they do not. */
  #pausedSince: number | undefined;
  /** The samples of the last `running` message. */
  #running: readonly SampleId[] = [];
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    // Each message takes time on this thread, between two runs of a graph, so `running` is posted only when the samples change.
    const post = (message: FromEngine): void => {
      if (message.type === 'running') {
        if (isSame(message.samples, this.#running)) return;
        this.#running = message.samples;
      }
      parts.post(message);
    };
    this.#lanes = lanesOf({ ...parts, post });
    this.#bulk = lanesOf({ ...parts, post }, this.#lanes);
  }

  /** Loads a model and warms it up; rejects with `model-unavailable` and the reason. */
  async open(spec: ModelToOpen): Promise<OpenedModel> {
    switch (spec.task) {
      case 'diffusion':
        return this.#lanes.diffusion.open(spec);
      case 'whisper':
        return this.#lanes.whisper.open(spec);
      case 'text':
        return this.#lanes.text.open(spec);
      case 'transform':
        return this.#lanes.transform.open(spec);
    }
  }

  /** Closes a model that has no sample left; has no effect on one that is not open. */
  async closeModel(ref: string): Promise<void> {
    await Promise.all(this.#all.map((lanes) => lanes.closeModel(ref)));
  }

  submit(request: EngineSample): void {
    const { diffusion, whisper, text, transform } = request.priority === 'bulk' ? this.#bulk : this.#lanes;
    try {
      if (request.task === 'whisper') whisper.submit(request);
      else if (request.task === 'text') text.submit(request);
      else if (request.task === 'transform') transform.submit(request);
      else diffusion.submit(request);
    } catch (error) {
      this.#parts.post({ type: 'failed', sample: request.id, failure: toPlainError(error, 'engine-failed') });
    }
    this.#wake?.();
  }

  /** Takes effect before the sample's next step; has no effect on a sample that has ended. */
  cancel(id: SampleId): void {
    if (this.#all.some((lanes) => lanes.cancel(id))) this.#parts.post({ type: 'canceled', sample: id });
  }

  /** As `cancel`, after a checkpoint of the steps made so far. */
  suspend(id: SampleId): void {
    for (const { diffusion } of [this.#lanes, this.#bulk]) diffusion.checkpoint(id);
    this.cancel(id);
  }

  /** How many lanes of picture sizes it remembers. */
  get lanes(): number {
    return this.#lanes.diffusion.count + this.#bulk.diffusion.count;
  }

  /** Posts a preview of a running sample after its next step. */
  preview(id: SampleId): void {
    for (const { diffusion } of [this.#lanes, this.#bulk]) diffusion.preview(id);
  }

  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  /** Works until closed. Reads messages between two turns, so each takes effect at the next step boundary. */
  async run(): Promise<void> {
    const { clock } = this.#parts;
    while (!this.#closed) {
      const next = this.#next();
      if (next) {
        const startedAt = clock.monotonic();
        await next.taker.takeTurn();
        next.turns.charge(next.taker, clock.monotonic() - startedAt);
        await readMessages();
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    }
    for (const lanes of tasksOf(this.#lanes)) await lanes.close();
  }

  get #all(): TaskLanes[] {
    return [this.#lanes, this.#bulk].flatMap(tasksOf);
  }

  /** Whose turn it is, and where it is charged. */
  #next(): { readonly taker: TurnTaker; readonly turns: Turns } | undefined {
    const now = this.#parts.clock.monotonic();
    const [others, bulk] = [this.#lanes, this.#bulk].map((lanes) => ({
      taker: lanes.turns.next(takersOf(lanes)),
      turns: lanes.turns,
    }));
    if (bulk.taker && others.taker) this.#pausedSince ??= now;
    else this.#pausedSince = undefined;
    const pausedMs = now - (this.#pausedSince ?? now);
    const isBulk = isBulkNext(bulk.taker !== undefined, others.taker !== undefined, pausedMs);
    if (isBulk) this.#pausedSince = undefined;
    const { taker, turns } = isBulk ? bulk : others;
    return taker && { taker, turns };
  }
}

function lanesOf(parts: EngineParts, beside?: Lanes): Lanes {
  const transform = new TransformLanes(parts, beside?.transform);
  return {
    diffusion: new DiffusionLanes(parts, transform, beside?.diffusion),
    whisper: new WhisperLanes(parts, beside?.whisper),
    text: new TextLanes(parts, beside?.text),
    transform,
    turns: new Turns(),
  };
}

type TaskLanes = DiffusionLanes | WhisperLanes | TextLanes | TransformLanes;

const tasksOf = ({ diffusion, whisper, text, transform }: Lanes): TaskLanes[] => [
  diffusion,
  whisper,
  text,
  transform,
];

const takersOf = (lanes: Lanes): TurnTaker[] => tasksOf(lanes).flatMap((each) => each.turnTakers());

const isSame = (a: readonly SampleId[], b: readonly SampleId[]): boolean =>
  a.length === b.length && a.every((id, i) => id === b[i]);

/** One whole round of the event loop, in which messages from the worker arrive. */
const readMessages = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
