/**
 * The engine: models, one lane per group, a desk that encodes prompts and one that decodes latents, all taking turns on one
 * device, and the same for windows of audio (whisper-lanes.ts). It knows nothing of queues or stores; samples come in as
 * messages, pictures and text go out as messages.
 */
import { type Clock, toPlainError } from '@lehr/shared';
import type { LatentRgb } from '../diffusion/latent-rgb.ts';
import { type DiffusionModel, openDiffusionModel } from '../models/diffusion/diffusion-folder.ts';
import type { InferenceRuntime } from '../runtime/runtime.ts';
import { DecodeDesk } from './decode-desk.ts';
import { Lane } from './lane.ts';
import { LaneSample } from './lane-sample.ts';
import type {
  DiffusionSample,
  DiffusionToOpen,
  EngineSample,
  EngineSettings,
  FromEngine,
  ModelToOpen,
  OpenedModel,
  SampleId,
} from './protocol.ts';
import { ladderFor, RowCap } from './row-cap.ts';
import { TextDesk } from './text-desk.ts';
import { type Station, Turns } from './turns.ts';
import { warmUp } from './warm-up.ts';
import { WhisperLanes } from './whisper-lanes.ts';

export interface EngineParts {
  readonly runtime: InferenceRuntime;
  readonly settings: EngineSettings;
  readonly clock: Clock;
  readonly post: (message: FromEngine) => void;
}

interface Opened {
  readonly model: DiffusionModel;
  readonly cap: RowCap;
  readonly latentRgb: LatentRgb | undefined;
  /** Picture size that was warmed up. */
  readonly warm: { readonly width: number; readonly height: number };
}

export class Engine {
  readonly #parts: EngineParts;
  readonly #models = new Map<string, Opened>();
  readonly #lanes = new Map<string, Lane>();
  readonly #turns = new Turns();
  readonly #text: TextDesk;
  readonly #decode: DecodeDesk;
  readonly #whisper: WhisperLanes;
  /** The samples of the last `turn` that was posted. */
  #named: readonly SampleId[] = [];
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(parts: EngineParts) {
    const { clock } = parts;
    this.#parts = parts;
    const post = (message: FromEngine): void => this.#post(message);
    this.#text = new TextDesk({
      clock,
      post,
      onEncoded: (request, embeddings, marks) => {
        const { model } = this.#opened(request.model);
        const length = latentLength(model, request);
        const sample = new LaneSample(request, embeddings, model.schedulerConfig, length, marks);
        this.#lane(request).submit(sample);
      },
    });
    this.#decode = new DecodeDesk({ clock, post, vaeOf: (request) => this.#opened(request.model).model.vae });
    // A decoder call may take less time than saying again who takes part in it.
    const postIfChanged = (message: FromEngine): void => {
      if (message.type !== 'running' || !isSame(message.samples, this.#named)) post(message);
    };
    this.#whisper = new WhisperLanes({ ...parts, post: postIfChanged });
  }

  /** Loads a model and warms it up; rejects with `model-unavailable` and the reason. */
  async open(spec: ModelToOpen): Promise<OpenedModel> {
    return spec.task === 'whisper' ? this.#whisper.open(spec) : this.#openDiffusion(spec);
  }

  async #openDiffusion(spec: DiffusionToOpen): Promise<OpenedModel> {
    const { runtime, settings, clock } = this.#parts;
    const model = await openDiffusionModel(spec.folder, runtime, settings);
    const cap = new RowCap(settings.rowCap === 'auto' ? {} : { ceiling: settings.rowCap, fixed: true });
    const latentRgb = await warmUp(model, spec.warmUp, cap, clock);
    this.#models.set(spec.ref, { model, cap, latentRgb, warm: spec.warmUp });
    const { batching, graphs } = model;
    return {
      ref: spec.ref,
      batching: batching.mode === 'rows' ? 'step' : 'aligned',
      ...(batching.mode === 'aligned' && { reason: batching.reason }),
      graphs,
      stepMs: cap.measurements,
      rowCap: cap.rows,
    };
  }

  submit(request: EngineSample): void {
    try {
      if (request.task === 'whisper') this.#whisper.submit(request);
      else this.#text.submit(request, this.#opened(request.model).model);
    } catch (error) {
      this.#parts.post({ type: 'failed', sample: request.id, failure: toPlainError(error, 'engine-failed') });
    }
    this.#wake?.();
  }

  /** Takes effect before the sample's next step; a sample that is not here any more has ended on its own. */
  cancel(id: SampleId): void {
    const places = [this.#text, ...this.#lanes.values(), this.#decode, this.#whisper];
    if (places.some((place) => place.cancel(id))) this.#parts.post({ type: 'canceled', sample: id });
  }

  /** Has a preview of a running sample posted after its next step. */
  preview(id: SampleId): void {
    for (const lane of this.#lanes.values()) if (lane.preview(id)) return;
  }

  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  /** Works until closed. Between two turns messages are let in, so everything takes effect at the next boundary. */
  async run(): Promise<void> {
    const { clock } = this.#parts;
    while (!this.#closed) {
      const station = this.#turns.next(this.#stations());
      if (station) {
        const startedAt = clock.monotonic();
        await station.turn();
        this.#turns.charge(station, clock.monotonic() - startedAt);
        await breathe();
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    }
    for (const { model } of this.#models.values()) await model.close();
    await this.#whisper.close();
  }

  #post(message: FromEngine): void {
    if (message.type === 'running') this.#named = message.samples;
    this.#parts.post(message);
  }

  *#stations(): Iterable<Station> {
    // Prompts first among equals: a newcomer's text is encoded before the next step, so that it can join that step.
    yield this.#text;
    yield* this.#lanes.values();
    yield this.#decode;
    yield* this.#whisper.stations();
  }

  #opened(ref: string): Opened {
    const opened = this.#models.get(ref);
    if (!opened) throw new Error(`Model ${ref} is not open in this engine. This is a bug in Lehr.`);
    return opened;
  }

  #lane(request: DiffusionSample): Lane {
    const known = this.#lanes.get(request.lane);
    if (known) return known;
    const { model, cap, latentRgb, warm } = this.#opened(request.model);
    const { clock } = this.#parts;
    const isWarm = request.width === warm.width && request.height === warm.height;
    const lane = new Lane({
      name: request.lane,
      unet: model.unet,
      size: latentSize(model, request),
      latentRgb,
      cap: isWarm ? cap : cap.forAnotherShape(),
      ladder: ladderFor(model.unetProvider),
      clock,
      post: (message) => this.#post(message),
      onRetired: (sample) => this.#decode.submit(sample),
      isCongested: () => this.#decode.isCongested,
    });
    this.#lanes.set(request.lane, lane);
    return lane;
  }
}

const latentSize = (model: DiffusionModel, { width, height }: DiffusionSample) => ({
  width: width / model.vae.scaleFactor,
  height: height / model.vae.scaleFactor,
});

function latentLength(model: DiffusionModel, request: DiffusionSample): number {
  const { width, height } = latentSize(model, request);
  return model.unet.latentChannels * width * height;
}

const isSame = (a: readonly SampleId[], b: readonly SampleId[]): boolean =>
  a.length === b.length && a.every((id, i) => id === b[i]);

/** Gives the event loop one whole round, in which messages from the parent arrive. */
const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
