import { LehrError } from '@lehr/shared';
import { ModelOutput } from '../model-output.ts';
import type { DrawNoise, SamplerRun, SamplerState } from './sampler.ts';
import type { SamplerPlan, SamplerRule } from './sampler-kind.ts';

/** A run of one sample: counts the calls of a plan and holds the history that the rule updates. */
export class PlannedRun implements SamplerRun {
  readonly timesteps: readonly number[];
  readonly initNoiseSigma: number;
  readonly #rule: SamplerRule;
  readonly #history: readonly Float32Array[];
  readonly #latentLength: number;
  #call = 0;

  constructor(plan: SamplerPlan, rule: SamplerRule, latentLength: number) {
    this.timesteps = plan.timesteps;
    this.initNoiseSigma = plan.initNoiseSigma;
    this.#rule = rule;
    this.#latentLength = latentLength;
    this.#history = Array.from({ length: rule.historyLength }, () => new Float32Array(latentLength));
  }

  get call(): number {
    return this.#call;
  }

  get drawsNoise(): boolean {
    return this.#call < this.timesteps.length && this.#rule.drawsNoise?.(this.#call) === true;
  }

  scaleModelInput(latent: Float32Array, out: Float32Array): void {
    this.#expect(latent, out);
    const scale = this.#rule.inputScale?.(this.#call);
    if (scale === undefined) {
      out.set(latent);
      return;
    }
    for (let i = 0; i < latent.length; i++) out[i] = latent[i] * scale;
  }

  step(output: ModelOutput | Float32Array, latent: Float32Array, drawNoise: DrawNoise): boolean {
    this.#expect(output, latent);
    if (this.#call === this.timesteps.length) {
      throw new Error(`All ${this.#call} calls of this run have been made. This is a bug in Lehr.`);
    }
    const read = ModelOutput.from(output);
    this.#rule.update(this.#call, read, latent, this.#history, drawNoise);
    if (read.isFinite) this.#call++;
    return read.isFinite;
  }

  addNoise(latent: Float32Array, noise: Float32Array): void {
    this.#expect(latent, noise);
    const { start } = this.#rule;
    for (let i = 0; i < latent.length; i++) latent[i] = start.picture * latent[i] + start.noise * noise[i];
  }

  state(): SamplerState {
    return { call: this.#call, history: this.#history.map((latent) => latent.slice()) };
  }

  restore({ call, history }: SamplerState): void {
    const calls = this.timesteps.length;
    const fits =
      Number.isInteger(call) &&
      call >= 0 &&
      call <= calls &&
      history.length === this.#history.length &&
      history.every((latent) => latent.length === this.#latentLength);
    if (!fits) {
      const lengths = history.map((latent) => latent.length).join(', ');
      throw new LehrError(
        'internal',
        `This sampler state belongs to another run: call ${call} of ${calls}, a history of [${lengths}] values, wanted ` +
          `${this.#history.length} latents of ${this.#latentLength}.`,
      );
    }
    for (const [i, latent] of this.#history.entries()) latent.set(history[i]);
    this.#call = call;
  }

  #expect(...arrays: readonly { readonly length: number }[]): void {
    for (const { length } of arrays) {
      if (length === this.#latentLength) continue;
      throw new Error(
        `This run's latent has ${this.#latentLength} values, not ${length}. This is a bug in Lehr.`,
      );
    }
  }
}
