/**
 * The engine: pictures (diffusion/), windows of audio (whisper/) and texts (text/) take turns on one device. Samples arrive as
 * messages, and their results leave as messages; queues and stores are the worker's part.
 */
import { toPlainError } from '@lehr/shared';
import { DiffusionLanes } from './diffusion/diffusion-lanes.ts';
import type { EngineParts } from './engine-parts.ts';
import type { EngineSample, FromEngine, ModelToOpen, OpenedModel, SampleId } from './protocol.ts';
import { TextLanes } from './text/text-lanes.ts';
import { Turns } from './turns.ts';
import { WhisperLanes } from './whisper/whisper-lanes.ts';

export class Engine {
  readonly #parts: EngineParts;
  readonly #turns = new Turns();
  readonly #diffusion: DiffusionLanes;
  readonly #whisper: WhisperLanes;
  readonly #text: TextLanes;
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
    this.#diffusion = new DiffusionLanes({ ...parts, post });
    this.#whisper = new WhisperLanes({ ...parts, post });
    this.#text = new TextLanes({ ...parts, post });
  }

  /** Loads a model and warms it up; rejects with `model-unavailable` and the reason. */
  async open(spec: ModelToOpen): Promise<OpenedModel> {
    switch (spec.task) {
      case 'diffusion':
        return this.#diffusion.open(spec);
      case 'whisper':
        return this.#whisper.open(spec);
      case 'text':
        return this.#text.open(spec);
    }
  }

  /** Closes a model that has no sample left; has no effect on one that is not open. */
  async closeModel(ref: string): Promise<void> {
    await Promise.all([this.#diffusion, this.#whisper, this.#text].map((lanes) => lanes.closeModel(ref)));
  }

  submit(request: EngineSample): void {
    try {
      if (request.task === 'whisper') this.#whisper.submit(request);
      else if (request.task === 'text') this.#text.submit(request);
      else this.#diffusion.submit(request);
    } catch (error) {
      this.#parts.post({ type: 'failed', sample: request.id, failure: toPlainError(error, 'engine-failed') });
    }
    this.#wake?.();
  }

  /** Takes effect before the sample's next step; has no effect on a sample that has ended. */
  cancel(id: SampleId): void {
    const isCanceled = this.#diffusion.cancel(id) || this.#whisper.cancel(id) || this.#text.cancel(id);
    if (isCanceled) this.#parts.post({ type: 'canceled', sample: id });
  }

  /** As `cancel`, after a checkpoint of the steps made so far. */
  suspend(id: SampleId): void {
    this.#diffusion.checkpoint(id);
    this.cancel(id);
  }

  /** How many lanes of picture sizes it remembers. */
  get lanes(): number {
    return this.#diffusion.lanes;
  }

  /** Posts a preview of a running sample after its next step. */
  preview(id: SampleId): void {
    this.#diffusion.preview(id);
  }

  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  /** Works until closed. Reads messages between two turns, so each takes effect at the next step boundary. */
  async run(): Promise<void> {
    const { clock } = this.#parts;
    while (!this.#closed) {
      const taker = this.#turns.next([
        ...this.#diffusion.turnTakers(),
        ...this.#whisper.turnTakers(),
        ...this.#text.turnTakers(),
      ]);
      if (taker) {
        const startedAt = clock.monotonic();
        await taker.takeTurn();
        this.#turns.charge(taker, clock.monotonic() - startedAt);
        await readMessages();
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    }
    await this.#diffusion.close();
    await this.#whisper.close();
    await this.#text.close();
  }
}

const isSame = (a: readonly SampleId[], b: readonly SampleId[]): boolean =>
  a.length === b.length && a.every((id, i) => id === b[i]);

/** One whole round of the event loop, in which messages from the worker arrive. */
const readMessages = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
