/** The diffusion part of the engine: its open models, a lane for each picture size, prompts before and latents after them. */
import { type Clock, isPlainUpscaler, LehrError, toPlainError } from '@lehr/shared';
import { closeOnFailure } from '../../folder/open-whole.ts';
import { weightsDigest } from '../../folder/prepared-manifest.ts';
import { type EngineParts, ModelLanes, openedModel, tunedSettings } from '../../lanes/model-lanes.ts';
import { climbLadder, ladderFor, ROW_LADDER, RowCap } from '../../lanes/row-cap.ts';
import type { DiffusionSample, DiffusionToOpen, OpenedModel, SampleId } from '../../protocol/messages.ts';
import { cutDecoder } from '../cut-decoder.ts';
import { type DiffusionModel, openDiffusionModel } from '../folder/diffusion-folder.ts';
import { probeRow } from '../folder/load-rows.ts';
import { encoderOf } from '../folder/open-picture-input.ts';
import { explainedBySize, refuseOtherSize } from '../folder/picture-sizes.ts';
import { fitLatentRgb, type LatentRgb } from '../latent-rgb.ts';
import type { VaeEncoder } from '../vae-encoder.ts';
import { Checkpoints } from './checkpoints.ts';
import { ControlPictures, refuseControls } from './control-pictures.ts';
import { Lane } from './lane.ts';
import { LaneSample } from './lane-sample.ts';
import { DecodeQueue, EncodeQueue, PromptQueue } from './sample-queues.ts';
import { enlarged, refuseSecondPass, secondRequest } from './second-pass.ts';
import { type Enlarger, type Pixels, Upscales } from './upscales.ts';

interface OpenModel {
  readonly model: DiffusionModel;
  readonly cap: RowCap;
  readonly latentRgb: LatentRgb | undefined;
  /** Digest of its files; empty when there are no checkpoints. */
  readonly weights: string;
  /** Those of its ControlNets, by their names. */
  readonly controlWeights: ReadonlyMap<string, string>;
  /** Picture size of the warm-up. */
  readonly warm: { readonly width: number; readonly height: number };
}

export class DiffusionLanes extends ModelLanes<OpenModel, DiffusionSample, Lane> {
  readonly #encodes: EncodeQueue;
  readonly #prompts: PromptQueue;
  readonly #decodes: DecodeQueue;
  readonly #upscales: Upscales;
  readonly #controlPictures: ControlPictures;
  readonly #checkpoints: Checkpoints | undefined;

  /** With `beside`, these are further lanes of its open models. */
  constructor(parts: EngineParts, enlarger: Enlarger, beside?: DiffusionLanes) {
    super(parts, beside);
    const { clock, post, settings } = parts;
    this.#prompts = new PromptQueue({
      clock,
      post,
      encode: (ref, prompts) => {
        const { textEncoder, maxChunks } = this.opened(ref).model;
        return textEncoder.encode(prompts, { maxChunks });
      },
      onEncoded: (sample) => this.lane(sample.request).submit(sample),
    });
    this.#encodes = new EncodeQueue({
      clock,
      post,
      encoderOf: (request) => this.#encoder(request),
      onEncoded: (sample) => this.#join(sample),
    });
    this.#decodes = new DecodeQueue({
      clock,
      post,
      vaeOf: (ref) => this.opened(ref).model.vae,
      onFirstPass: (sample, pixels) => this.#enlarge(sample, pixels),
    });
    this.#upscales = new Upscales({
      enlarger,
      post,
      onEnlarged: (sample, picture) => this.#beginSecondPass(sample, picture),
    });
    this.#controlPictures = new ControlPictures({
      transforms: enlarger,
      post,
      onMade: (sample) => this.#begin(sample),
    });
    const weightsOf = ({ model: ref, controls = [], adapters = [] }: DiffusionSample): string => {
      const { weights, controlWeights, model } = this.opened(ref);
      const ofControls = controls.map(({ name }) => controlWeights.get(name));
      return [weights, ...ofControls, ...adapters.map(({ name }) => model.adapters.digestOf(name))].join(' ');
    };
    this.#checkpoints = beside
      ? beside.#checkpoints
      : settings.checkpoints && new Checkpoints({ settings: settings.checkpoints, clock, post, weightsOf });
  }

  /** Loads a model and warms it up; rejects with `model-unavailable` and the reason. */
  async open(spec: DiffusionToOpen): Promise<OpenedModel> {
    const { runtime, clock } = this.parts;
    const settings = tunedSettings(this.parts.settings, spec.tuned);
    const { controls = [], adapters = [] } = spec;
    const model = await openDiffusionModel(spec.folder, runtime, { ...settings, controls, adapters });
    const loadedAt = clock.monotonic();
    const warm = model.onlySize ?? spec.warmUp;
    const cap = new RowCap(settings.rowCap === 'auto' ? {} : { ceiling: settings.rowCap, fixed: true });
    const [latentRgb, cut, weights, controlWeights] = await closeOnFailure(model, async () => [
      await warmUp(model, warm, cap, clock),
      await cutDecoder(model.vae, {
        picture: warm,
        limitMs: pieceMs(cap),
        load: (largestPiece) => model.reloadDecoder(largestPiece),
        clock,
      }),
      settings.checkpoints ? await weightsDigest(spec.folder) : '',
      settings.checkpoints ? await digestsOf(model, controls) : new Map<string, string>(),
      settings.checkpoints ? await model.adapters.readDigests() : undefined,
    ]);
    this.add(spec.ref, { model, cap, latentRgb, weights, controlWeights, warm });
    const { batching } = model;
    const graphs = model.graphs.map((report) =>
      cut && report.graph === 'vae_decoder' ? { ...report, cut } : report,
    );
    const warmUpMs = clock.monotonic() - loadedAt;
    const opened = openedModel({ ref: spec.ref, batching, graphs, cap, warmUpMs });
    return {
      ...opened,
      maxPromptTokens: model.tokenizer.maxTokens,
      ...(spec.adapters && { adapters: model.adapters.opened }),
      ...(spec.controls && {
        controls: model.controls.map(({ name, problem }) => ({
          name,
          ...(problem !== undefined && { problem }),
        })),
      }),
    };
  }

  /** Throws LehrError `invalid-input` for what the model or its sampler cannot do. */
  override submit({ checkpoint, ...request }: DiffusionSample): void {
    const { model } = this.opened(request.model);
    model.adapters.check(request.adapters ?? []);
    refuseOtherSize(model.onlySize, request);
    if (request.image) this.#encoder(request);
    if (model.conditioning.readsMask) refuseWithoutMask(request);
    refuseSecondPass(model, request, this.#upscales);
    refuseControls(request, model.controls, (ref) => this.#controlPictures.check(ref));
    const arrivedAt = this.parts.clock.monotonic();
    let sample = newSample(model, request, arrivedAt);
    if (checkpoint && this.#checkpoints) {
      // Its latent is that of the checkpoint.
      const second = () => newSample(model, secondRequest(request, enlarged(sample)), arrivedAt, sample);
      sample = this.#checkpoints.resume(sample, checkpoint, request.hires && second);
      if (sample.first) this.#changeLane(sample);
    }
    if (sample.controls.toMake && sample.denoising.callsLeft > 0) this.#controlPictures.submit(sample);
    else this.#begin(sample);
  }

  /** Its control pictures are there. */
  #begin(sample: LaneSample): void {
    if (sample.denoising.needsPicture) {
      this.#encodes.submit(sample);
    } else if (sample.denoising.callsLeft > 0) {
      this.#join(sample);
    } else {
      const { model } = this.opened(sample.request.model);
      sample.prompt.setLengths(model.textEncoder.measure(sample.prompt.texts, model));
      sample.startedAt = sample.arrivedAt;
      sample.denoisedAt = sample.arrivedAt;
      this.#denoised(sample);
    }
  }

  /** Its latent is there: it gets its prompts, and then a place in its lane. */
  #join(sample: LaneSample): void {
    const isEncoded = sample.first && sample.prompt.takeFrom(sample.first.prompt);
    if (isEncoded) this.lane(sample.request).submit(sample);
    else this.#prompts.submit(sample);
  }

  #denoised(sample: LaneSample): void {
    if (sample.request.hires?.upscaler === 'latent') this.#beginSecondPass(sample);
    else this.#decodes.submit(sample);
  }

  #enlarge(first: LaneSample, pixels: Uint8Array): void {
    const { width, height, hires } = first.request;
    const picture = { pixels, width, height };
    if (hires && !isPlainUpscaler(hires.upscaler))
      this.#orFail(first, () => this.#upscales.submit(first, picture, hires.upscaler));
    else this.#beginSecondPass(first, picture);
  }

  #beginSecondPass(first: LaneSample, picture?: Pixels): void {
    const { request, arrivedAt } = first;
    this.#orFail(first, () => {
      const { model } = this.opened(request.model);
      const second = newSample(model, secondRequest(request, enlarged(first, picture)), arrivedAt, first);
      this.#changeLane(second);
      if (second.denoising.needsPicture) this.#encodes.submit(second);
      else this.#join(second);
    });
  }

  /** Never throws: what cannot be done for a sample is its failure. */
  #orFail({ request }: LaneSample, act: () => void): void {
    try {
      act();
    } catch (error) {
      const failure = toPlainError(error, 'engine-failed');
      this.parts.post({ type: 'failed', sample: request.id, failure });
    }
  }

  override cancel(id: SampleId): boolean {
    return this.#controlPictures.cancel(id) || this.#upscales.cancel(id) || super.cancel(id);
  }

  #changeLane({ request: { id, lane } }: LaneSample): void {
    this.parts.post({ type: 'lane-changed', sample: id, lane });
  }

  /** Posts a checkpoint of a sample, if it has made steps. */
  checkpoint(id: SampleId): void {
    const places = [...this.lanes, this.#decodes, this.#upscales];
    const sample = places.map((place) => place.find(id)).find((found) => found);
    if (sample) this.#checkpoints?.leaving(sample);
  }

  /** Posts a preview of a running sample after its next step. */
  preview(id: SampleId): void {
    for (const lane of this.lanes) if (lane.preview(id)) return;
  }

  /** Pictures and prompts come first, because Turns prefers the first among equals: a new sample can then join the next step. */
  override turnTakers(): (Lane | EncodeQueue | PromptQueue | DecodeQueue)[] {
    return [this.#encodes, this.#prompts, ...this.lanes, this.#decodes];
  }

  override async close(): Promise<void> {
    await super.close();
    await this.parts.noise?.close();
  }

  /** Throws LehrError `invalid-input` when the model takes no picture of this size. */
  #encoder(request: DiffusionSample): VaeEncoder {
    return encoderOf(request.model, this.opened(request.model).model.pictureInput, request);
  }

  protected override newLane(request: DiffusionSample, { model, cap, latentRgb, warm }: OpenModel): Lane {
    const { clock, post, noise } = this.parts;
    const isWarm = request.width === warm.width && request.height === warm.height;
    return new Lane({
      name: request.lane,
      unet: model.unet,
      size: latentSize(model, request),
      latentRgb,
      cap: isWarm ? cap : cap.forAnotherShape(),
      ladder: ladderFor(model.unetProvider),
      noise,
      clock,
      post,
      onDenoised: (sample) => this.#denoised(sample),
      isDecodeCongested: () => this.#decodes.isCongested,
      onStepped: (samples) => this.#checkpoints?.stepped(samples),
      explain: (error, { first }) => explainedBySize(error, model.sizeStep, request, first !== undefined),
    });
  }
}

/** Of the ControlNets that can be used. */
async function digestsOf(
  { controls: open }: DiffusionModel,
  specs: NonNullable<DiffusionToOpen['controls']>,
): Promise<ReadonlyMap<string, string>> {
  const digests = new Map<string, string>();
  for (const { name, folder } of specs) {
    const isOpen = open.some((each) => each.name === name && each.problem === undefined);
    if (isOpen) digests.set(name, await weightsDigest(folder));
  }
  return digests;
}

/** Throws LehrError `invalid-input` for what an inpainting model does not draw. */
function refuseWithoutMask({ model, mask, image }: DiffusionSample): void {
  const [pointer, why] = mask ? ['/input/image', 'is a latent'] : ['/input/mask', 'is missing'];
  if (mask && image) return;
  const detail = `${why}: ${model} is an inpainting model, which reads a picture and a mask of its part to draw again`;
  throw new LehrError('invalid-input', `${pointer} ${detail}.`, { problems: [{ pointer, detail }] });
}

/** Of a full step of a lane. A lane then makes its next step at most 1.3 steps after one. */
const LARGEST_PIECE = 0.3;
/** Nobody notices a shorter turn, and each piece has a cost. */
const NOTICED_MS = 10;

/** What a turn of decoding may take, by the widest step that was measured and is not wider than the cap. */
const pieceMs = ({ measurements, rows }: RowCap): number =>
  Math.max(NOTICED_MS, LARGEST_PIECE * (measurements.findLast(([measured]) => measured <= rows)?.[1] ?? 0));

function newSample(
  model: DiffusionModel,
  request: DiffusionSample,
  arrivedAt: number,
  first?: LaneSample,
): LaneSample {
  const { width, height } = latentSize(model, request);
  const shape = [model.unet.latentChannels, height, width] as const;
  return new LaneSample(request, model.schedulerConfig, shape, arrivedAt, model.conditioning, first);
}

const latentSize = (model: DiffusionModel, { width, height }: DiffusionSample) => ({
  width: width / model.vae.scaleFactor,
  height: height / model.vae.scaleFactor,
});

/**
 * Warm-up of a diffusion model, before it serves any job: runs every graph once, measures the duration of a step at each
 * rung of the row ladder for as long as more rows increase the throughput, and fits the map that makes previews.
 */
export async function warmUp(
  model: DiffusionModel,
  picture: { readonly width: number; readonly height: number },
  cap: RowCap,
  clock: Clock,
): Promise<LatentRgb | undefined> {
  const { unet, vae, tokenizer } = model;
  const size = { width: picture.width / vae.scaleFactor, height: picture.height / vae.scaleFactor };
  const adapters = unet.adapters.slice(0, 1).map((name) => ({ name, scale: 1 }));
  const row = { ...probeRow(unet, size, tokenizer.maxTokens, 1), adapters };
  // A graph with a fixed batch size has only one row count.
  const rungs = unet.fixedRows === undefined ? ROW_LADDER : [unet.fixedRows];
  const run = (rows: number) => unet.predict(new Array(rows).fill(row), size);
  await climbLadder(cap, { clock, run, rungs });
  try {
    return await fitLatentRgb(vae, picture, clock);
  } catch (error) {
    // A VAE that cannot decode synthetic latents may still decode real ones; missing previews must not refuse the model.
    if (error instanceof LehrError && error.code === 'numeric-error') return undefined;
    throw error;
  }
}
