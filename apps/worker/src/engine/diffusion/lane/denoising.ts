/** A latent on its way from noise, or from a picture, to its final values: its sampler's state, its noise, and where it is. */
import type { DiffusionSample } from '../../protocol/messages.ts';
import { decodeCheckpoint, encodeCheckpoint, UnusableCheckpoint } from '../checkpoint.ts';
import { decodeLatent, encodeLatent, type NoisyLatent } from '../latent-file.ts';
import { latentMask, MaskedLatent } from '../masked-latent.ts';
import { type ModelOutput, predictedClean } from '../model-output.ts';
import { SeededNoise } from '../noise.ts';
import { createSamplerRun } from '../samplers/index.ts';
import { CLEAN, type DrawNoise, type SamplerRun } from '../samplers/sampler.ts';
import type { SchedulerConfig } from '../scheduler-config.ts';
import { drawLatent, type EncodedPicture, type VaeEncoder } from '../vae-encoder.ts';

/** The pictures of a sample as the VAE encodes them; what its model does not need is not there. */
interface EncodedStart {
  readonly picture?: EncodedPicture;
  /** Without what is masked. */
  readonly masked?: EncodedPicture;
  /** What the drawing begins at, where that is another picture. */
  readonly begun?: EncodedPicture;
}

interface Beginning {
  /** What is there, clean unless the run adds no noise; undefined where the drawing begins in noise. */
  readonly latent?: Float32Array | undefined;
  readonly noise?: Float32Array | undefined;
  readonly kept?: MaskedLatent | undefined;
}

/** `[channels, height, width]`. */
type LatentShape = NoisyLatent['shape'];

export class Denoising {
  /** Of `shape`; final when no call is left. */
  readonly latent: Float32Array;
  readonly shape: LatentShape;
  /** When set, the next call keeps its predicted clean latent. */
  wantsPreview = false;
  readonly #run: SamplerRun;
  readonly #noise: SeededNoise;
  /** The scaled latent, and what the model reads beside it. */
  #input: Float32Array;
  readonly #readsMask: boolean;
  readonly #config: SchedulerConfig;
  /** Whether a picture that it begins at gets noise: what it begins at in the middle of a schedule has its noise. */
  readonly #addsNoise: boolean;
  readonly #request: DiffusionSample;
  /** What another run has left for it. */
  readonly #given: NoisyLatent | undefined;
  #masked: MaskedLatent | undefined;
  #preview: Float32Array | undefined;
  /** Calls that were made before, and their number in the last checkpoint. */
  #resumedAt = 0;
  #checkpointedAt = 0;

  /** Throws LehrError `invalid-input` when the sampler cannot make this many steps, and for a latent that is none or of another shape. */
  constructor(request: DiffusionSample, config: SchedulerConfig, shape: LatentShape, readsMask = false) {
    this.#config = config;
    this.#readsMask = readsMask;
    this.#request = request;
    this.shape = shape;
    const latentLength = shape[0] * shape[1] * shape[2];
    const { sampler: name, steps, strength, denoisingStart: start, denoisingEnd: end } = request;
    this.#addsNoise = start === undefined;
    this.#run = createSamplerRun({
      name,
      config,
      steps,
      latentLength,
      window: { start, end },
      ...(strength !== undefined && { strength }),
    });
    this.#noise = new SeededNoise(request.seed);
    const beginsAtNoise = !request.image && !request.latent;
    this.latent = beginsAtNoise ? this.#noise.draw(latentLength) : new Float32Array(latentLength);
    for (let i = 0; i < latentLength; i++) this.latent[i] *= this.#run.initNoiseSigma;
    this.#input = new Float32Array(latentLength);
    this.#given = request.latent && decodeLatent(request.latent, shape);
    if (this.#given && !request.image) this.beginAt({});
  }

  /** Model calls made. */
  get call(): number {
    return this.#run.call;
  }

  get callsLeft(): number {
    return this.#run.timesteps.length - this.#run.call;
  }

  /** Calls that this engine has made. */
  get callsHere(): number {
    return this.#run.call - this.#resumedAt;
  }

  get callsToCheckpoint(): number {
    return this.#run.call - this.#checkpointedAt;
  }

  /** Whether it continued from a checkpoint, so that earlier calls were made elsewhere. */
  get isResumed(): boolean {
    return this.#resumedAt > 0;
  }

  /** Of the next call. */
  get timestep(): number {
    return this.#run.timesteps[this.#run.call];
  }

  /** Whether it needs its picture before its next call: to begin there, and with a mask also to go on. */
  get needsPicture(): boolean {
    const { image, mask } = this.#request;
    return image !== undefined && (this.call === 0 || (mask !== undefined && this.callsLeft > 0));
  }

  /** What `beginAt` takes. */
  async encodeStart(encoder: Pick<VaeEncoder, 'encode'>): Promise<EncodedStart> {
    const { image = new Uint8Array(), mask, begun, strength } = this.#request;
    const beginsInNoise = this.#readsMask && strength === 1;
    return {
      ...(!beginsInNoise && { picture: await encoder.encode(image, this.#request) }),
      ...(this.#readsMask && { masked: await encoder.encode(image, this.#request, mask) }),
      ...(begun && { begun: await encoder.encode(begun, this.#request) }),
    };
  }

  /** Takes its picture. Noise is drawn in the order of diffusers: for the encoder, for the first step, and for the masked picture. */
  beginAt({ picture, masked, begun }: EncodedStart): void {
    const { seed, image, mask, noiseUnderMask } = this.#request;
    const { draw } = this.call > 0 ? new SeededNoise(seed) : this.#noise;
    const original = picture ? this.#drawn(picture, draw) : this.#given?.values;
    // What begins in the middle of the schedule has its noise; the noise of what is kept is drawn there, too.
    const noise = this.#addsNoise || mask ? draw(this.latent.length) : undefined;
    const weights = mask && this.#latentMask(mask);
    const kept = weights && original && noise && new MaskedLatent(weights, original, noise);
    if (weights && masked) this.#readMask(weights, this.#drawn(masked, draw));
    else this.#masked = kept;
    // diffusers encodes the masked picture also where nothing reads it, but not a latent.
    const drawsSpare = mask && (noiseUnderMask || (image && !masked));
    const spare = drawsSpare ? draw(this.latent.length) : undefined;
    if (this.call > 0) return;
    // One that continues from a checkpoint has no `begun`, and must draw the same noise: this takes none.
    const own = begun?.mean ?? this.#given?.values ?? original;
    this.#begin({ latent: noiseUnderMask ? spare : own, noise, kept });
  }

  #latentMask(mask: Uint8Array): Float32Array {
    const [, height, width] = this.shape;
    return latentMask(mask, this.#request, { height, width });
  }

  #drawn(picture: EncodedPicture, draw: DrawNoise): Float32Array {
    const latent = new Float32Array(this.latent.length);
    drawLatent(picture, latent, draw);
    return latent;
  }

  #begin({ latent, noise, kept }: Beginning): void {
    const { mask, strength } = this.#request;
    const added = this.#addsNoise ? noise : undefined;
    // As diffusers' inpainting, but not its image to image: at full strength, nothing of the picture is left under the mask.
    if (added && (!latent || (mask && strength === 1))) {
      this.latent.set(added.map((value) => value * this.#run.initNoiseSigma));
      return;
    }
    if (latent) this.latent.set(latent);
    const hasOtherUnits = this.#given && this.#given.hasSigmaUnits !== this.#run.hasSigmaUnits;
    if (!added && hasOtherUnits) this.#run.convertUnits(this.latent);
    kept?.keepOriginal(this.latent, CLEAN);
    if (added) this.#run.addNoise(this.latent, added);
  }

  /** The model reads them beside the latent in every call. */
  #readMask(mask: Float32Array, masked: Float32Array): void {
    const { length } = this.latent;
    const input = new Float32Array(length + mask.length + masked.length);
    input.set(mask.map(Math.round), length);
    input.set(masked, length + mask.length);
    this.#input = input;
  }

  /** Its latent for another run. */
  toFile(): Uint8Array {
    const { latent: values, shape } = this;
    return encodeLatent({ values, shape, hasSigmaUnits: this.#run.hasSigmaUnits });
  }

  /** What the model reads in the next call. */
  nextInput(): Float32Array {
    this.#run.scaleModelInput(this.latent, this.#scaledLatent);
    return this.#input;
  }

  get #scaledLatent(): Float32Array {
    return this.#input.subarray(0, this.latent.length);
  }

  /** Asks for the noise of the next step before it is needed; returns memory for the noise thread, when there is anything to draw. */
  drawAhead(): SharedArrayBuffer | undefined {
    return this.#run.drawsNoise ? this.#noise.drawAhead(this.latent.length) : undefined;
  }

  /** Makes a step from the model's output for `nextInput`. False when that is not finite; no further step can be made then. */
  advance(output: ModelOutput): boolean {
    if (this.wantsPreview) {
      this.#preview = predictedClean(this.#config, this.timestep, this.#scaledLatent, output);
      this.#masked?.keepOriginal(this.#preview, CLEAN);
      this.wantsPreview = false;
    }
    if (!this.#run.step(output, this.latent, this.#noise.draw)) return false;
    this.#masked?.keepOriginal(this.latent, this.#run.level);
    return true;
  }

  /** The clean latent that the last step predicted, if a preview was asked for; returned once. */
  takePredictedClean(): Float32Array | undefined {
    const preview = this.#preview;
    this.#preview = undefined;
    return preview;
  }

  /** The state after the last step. `identity` must be the same when another one is restored from it. */
  checkpoint(identity: string): Uint8Array {
    this.#checkpointedAt = this.#run.call;
    const sampler = this.#run.state();
    return encodeCheckpoint(identity, { latent: this.latent, sampler, noise: this.#noise.state() });
  }

  /** Continues from a checkpoint. Throws UnusableCheckpoint, and is unchanged then. */
  restore(checkpoint: Uint8Array, identity: string): void {
    const { latent, sampler, noise } = decodeCheckpoint(checkpoint, identity);
    if (latent.length !== this.latent.length) {
      throw new UnusableCheckpoint(
        `its latent has ${latent.length} values, that of the picture ${this.latent.length}`,
      );
    }
    try {
      this.#run.restore(sampler);
    } catch (error) {
      throw new UnusableCheckpoint((error as Error).message);
    }
    this.#noise.restore(noise);
    this.latent.set(latent);
    this.#resumedAt = sampler.call;
    this.#checkpointedAt = sampler.call;
  }
}
