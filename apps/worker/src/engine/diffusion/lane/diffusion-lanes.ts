/** The diffusion part of the engine: its open models, a lane for each picture size, prompts before and latents after them. */

import { RecentlyUsed } from '@lehr/shared';
import { orClose } from '../../folder/open-whole.ts';
import { weightsDigest } from '../../folder/weights-digest.ts';
import { type EngineParts, isNotOpen, openedModel } from '../../lanes/engine-parts.ts';
import { ladderFor, RowCap } from '../../lanes/row-cap.ts';
import { tunedSettings } from '../../lanes/tuned-settings.ts';
import type { TurnTaker } from '../../lanes/turns.ts';
import type { DiffusionSample, DiffusionToOpen, OpenedModel, SampleId } from '../../protocol/messages.ts';
import { type DiffusionModel, openDiffusionModel } from '../folder/diffusion-folder.ts';
import { refuseOtherSize } from '../folder/only-size.ts';
import { encoderOf } from '../folder/open-picture-input.ts';
import type { LatentRgb } from '../latent-rgb.ts';
import { cutOf } from '../text-encoder.ts';
import type { VaeEncoder } from '../vae-encoder.ts';
import { Checkpoints } from './checkpoints.ts';
import { DecodeQueue } from './decode-queue.ts';
import { EncodeQueue } from './encode-queue.ts';
import { Lane } from './lane.ts';
import { LaneSample } from './lane-sample.ts';
import { PromptQueue } from './prompt-queue.ts';
import { warmUp } from './warm-up.ts';

interface OpenModel {
  readonly model: DiffusionModel;
  readonly cap: RowCap;
  readonly latentRgb: LatentRgb | undefined;
  /** Digest of its files; empty when there are no checkpoints. */
  readonly weights: string;
  /** Picture size of the warm-up. */
  readonly warm: { readonly width: number; readonly height: number };
}

/** Callers choose the sizes of pictures. A lane without samples holds nothing but its measurements. */
const MAX_LANES_KEPT = 64;

export class DiffusionLanes {
  readonly #parts: EngineParts;
  readonly #models: Map<string, OpenModel>;
  readonly #lanes = new RecentlyUsed<string, Lane>(MAX_LANES_KEPT, (lane) => lane.hasWork);
  /** The model of each lane. */
  readonly #laneModels = new WeakMap<Lane, string>();
  readonly #encodes: EncodeQueue;
  readonly #prompts: PromptQueue;
  readonly #decodes: DecodeQueue;
  readonly #checkpoints: Checkpoints | undefined;

  /** With `beside`, these are further lanes of its open models. */
  constructor(parts: EngineParts, beside?: DiffusionLanes) {
    const { clock, post, settings } = parts;
    this.#parts = parts;
    this.#models = beside ? beside.#models : new Map();
    this.#prompts = new PromptQueue({
      clock,
      post,
      encoderOf: (ref) => this.#open(ref).model.textEncoder,
      onEncoded: (sample) => this.#lane(sample.request).submit(sample),
    });
    this.#encodes = new EncodeQueue({
      clock,
      post,
      encoderOf: (request) => this.#encoder(request),
      onEncoded: (sample) => this.#prompts.submit(sample),
    });
    this.#decodes = new DecodeQueue({ clock, post, vaeOf: (ref) => this.#open(ref).model.vae });
    const weightsOf = (ref: string): string => this.#open(ref).weights;
    this.#checkpoints = beside
      ? beside.#checkpoints
      : settings.checkpoints && new Checkpoints({ settings: settings.checkpoints, clock, post, weightsOf });
  }

  /** Loads a model and warms it up; rejects with `model-unavailable` and the reason. */
  async open(spec: DiffusionToOpen): Promise<OpenedModel> {
    const { runtime, clock } = this.#parts;
    const settings = tunedSettings(this.#parts.settings, spec.tuned);
    const model = await openDiffusionModel(spec.folder, runtime, settings);
    const loadedAt = clock.monotonic();
    const warm = model.onlySize ?? spec.warmUp;
    const cap = new RowCap(settings.rowCap === 'auto' ? {} : { ceiling: settings.rowCap, fixed: true });
    const [latentRgb, weights] = await orClose(model, async () => [
      await warmUp(model, warm, cap, clock),
      settings.checkpoints ? await weightsDigest(spec.folder) : '',
    ]);
    this.#models.set(spec.ref, { model, cap, latentRgb, weights, warm });
    const { batching, graphs } = model;
    const warmUpMs = clock.monotonic() - loadedAt;
    const opened = openedModel({ ref: spec.ref, batching, graphs, cap, warmUpMs });
    return { ...opened, maxPromptTokens: model.tokenizer.maxTokens };
  }

  /** Throws LehrError `invalid-input` for what the model or its sampler cannot do. */
  submit({ checkpoint, ...request }: DiffusionSample): void {
    const { model } = this.#open(request.model);
    refuseOtherSize(model.onlySize, request);
    if (request.image) this.#encoder(request);
    const { width, height } = latentSize(model, request);
    const latentLength = model.unet.latentChannels * width * height;
    const arrivedAt = this.#parts.clock.monotonic();
    const sample = new LaneSample(
      request,
      model.schedulerConfig,
      latentLength,
      arrivedAt,
      model.conditioning,
    );
    if (checkpoint) this.#checkpoints?.resume(sample, checkpoint);
    if (sample.needsPicture) {
      this.#encodes.submit(sample);
    } else if (sample.callsLeft > 0) {
      this.#prompts.submit(sample);
    } else {
      const { tokenizer } = model;
      sample.setCuts(sample.prompts.map((prompt) => cutOf(tokenizer.tokenize(prompt), tokenizer.maxTokens)));
      sample.startedAt = arrivedAt;
      sample.denoisedAt = arrivedAt;
      this.#decodes.submit(sample);
    }
  }

  /** Posts a checkpoint of a sample, if it has made steps. */
  checkpoint(id: SampleId): void {
    const places = [...this.#lanes.values(), this.#decodes];
    const sample = places.map((place) => place.find(id)).find((found) => found);
    if (sample) this.#checkpoints?.leaving(sample);
  }

  /** Removes a sample, which takes no further step; returns false when there is no such sample. */
  cancel(id: SampleId): boolean {
    const places = [this.#encodes, this.#prompts, ...this.#lanes.values(), this.#decodes];
    return places.some((place) => place.cancel(id));
  }

  /** How many lanes it remembers. */
  get lanes(): number {
    return this.#lanes.size;
  }

  /** Posts a preview of a running sample after its next step. */
  preview(id: SampleId): void {
    for (const lane of this.#lanes.values()) if (lane.preview(id)) return;
  }

  /** Pictures and prompts come first, because Turns prefers the first among equals: a new sample can then join the next step. */
  turnTakers(): TurnTaker[] {
    return [this.#encodes, this.#prompts, ...this.#lanes.values(), this.#decodes];
  }

  /** Closes a model that has no sample left. */
  async closeModel(ref: string): Promise<void> {
    const open = this.#models.get(ref);
    this.#models.delete(ref);
    for (const [name, lane] of [...this.#lanes.entries()]) {
      if (this.#laneModels.get(lane) === ref) this.#lanes.delete(name);
    }
    await open?.model.close();
  }

  async close(): Promise<void> {
    for (const { model } of this.#models.values()) await model.close();
    await this.#parts.noise?.close();
  }

  #open(ref: string): OpenModel {
    const open = this.#models.get(ref);
    if (!open) throw isNotOpen(ref);
    return open;
  }

  /** Throws LehrError `invalid-input` when the model takes no picture of this size. */
  #encoder(request: DiffusionSample): VaeEncoder {
    return encoderOf(request.model, this.#open(request.model).model.pictureInput, request);
  }

  #lane(request: DiffusionSample): Lane {
    const known = this.#lanes.get(request.lane);
    if (known) return known;
    const { model, cap, latentRgb, warm } = this.#open(request.model);
    const { clock, post, noise } = this.#parts;
    const isWarm = request.width === warm.width && request.height === warm.height;
    const lane = new Lane({
      name: request.lane,
      unet: model.unet,
      size: latentSize(model, request),
      latentRgb,
      cap: isWarm ? cap : cap.forAnotherShape(),
      ladder: ladderFor(model.unetProvider),
      noise,
      clock,
      post,
      onDenoised: (sample) => this.#decodes.submit(sample),
      isDecodeCongested: () => this.#decodes.isCongested,
      onStepped: (samples) => this.#checkpoints?.stepped(samples),
    });
    this.#lanes.set(request.lane, lane);
    this.#laneModels.set(lane, request.model);
    return lane;
  }
}

const latentSize = (model: DiffusionModel, { width, height }: DiffusionSample) => ({
  width: width / model.vae.scaleFactor,
  height: height / model.vae.scaleFactor,
});
