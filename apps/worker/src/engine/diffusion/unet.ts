/** The UNet: rows with their own timesteps in, noise predictions out. */
import { expectOutput } from '../runtime/graph-values.ts';
import type { Batching, RuntimeSession } from '../runtime/runtime.ts';
import type { FloatType, Tensor } from '../runtime/tensor.ts';
import type { ConditionName } from './conditioning.ts';
import type { ControlNets, RowControl } from './control/control-nets.ts';
import { ResidualStack } from './control/residual-stack.ts';
import { NoisePredictions } from './model-output.ts';
import { type FedRow, type LatentSize, RowFeeds, type RowFeedsConfig } from './row-feeds.ts';
import { joinOutputs, type SharedCall } from './shared-calls.ts';

/** One row of the batch; a sample with guidance takes two. */
export interface UnetRow extends FedRow {
  /** The ControlNets that guide it at this step, and their pictures. */
  readonly controls?: readonly RowControl[];
}

export interface UnetConfig extends RowFeedsConfig {
  /** Those of its output; as many as of its input when absent. */
  readonly latentChannels?: number | undefined;
}

export class Unet {
  readonly latentChannels: number;
  readonly #session: RuntimeSession;
  readonly #inputs: RowFeeds;
  readonly #output: string;
  readonly #residuals: ResidualStack;
  #controlNets: ControlNets | undefined;
  /** For sums with the prediction for one sample. */
  #rowMemory = new Float32Array(0);

  /** Throws LehrError `model-unavailable` when the session is not a Stable Diffusion UNet. */
  constructor(session: RuntimeSession, batching: Batching, config: UnetConfig = {}) {
    this.#session = session;
    this.#inputs = new RowFeeds('unet', session, batching, config);
    this.#output = expectOutput('unet', session, ['out_sample', 'sample']).name;
    this.#residuals = new ResidualStack(session);
    this.latentChannels = config.latentChannels ?? this.inputChannels;
  }

  get batching(): Batching {
    return this.#inputs.batching;
  }

  /** More than those of the latent, when the graph reads a mask and the masked picture too. */
  get inputChannels(): number {
    return this.#inputs.inputChannels;
  }

  get embeddingDim(): number {
    return this.#inputs.embeddingDim;
  }

  /** The batch size, if the graph fixes it: fewer rows are padded, more are refused. */
  get fixedRows(): number | undefined {
    return this.#inputs.fixedRows;
  }

  /** Those that can act on a row. */
  get adapters(): readonly string[] {
    return this.#inputs.adapters;
  }

  /** Whether each row holds the latent, the mask and the latent of the masked picture, as inpainting models were trained. */
  get readsMask(): boolean {
    return this.inputChannels === 2 * this.latentChannels + 1;
  }

  /** The conditions that every row must have, with their lengths. */
  get conditions(): ReadonlyMap<ConditionName, number> {
    return this.#inputs.conditions;
  }

  /** Whether a prompt may have more tokens than one chunk: a graph can fix their number. */
  get takesLongPrompts(): boolean {
    return this.#inputs.takesLongPrompts;
  }

  /** The latent size that the graph fixes, else the given one. */
  sizeOr(size: LatentSize): LatentSize {
    return this.#inputs.sizeOr(size);
  }

  /** How many inputs it has for what ControlNets add. */
  get residualInputs(): number {
    return this.#residuals.count;
  }

  /** They run before it, for the rows that have controls. */
  useControlNets(nets: ControlNets): void {
    this.#controlNets = nets;
  }

  /**
   * Predicts the noise of every row, in one run where their prompts can share it (shared-calls.ts). The batch is padded to `padTo` rows, for
   * providers that tune per shape: the extra rows repeat the last one and their results are dropped. Throws what RuntimeSession.run throws,
   * and LehrError `engine-failed` for rows that cannot be in one run.
   */
  async predict(rows: readonly UnetRow[], size: LatentSize, padTo = rows.length): Promise<NoisePredictions> {
    const calls: SharedCall[] = [];
    const outputs: Tensor<FloatType>[] = [];
    const begunAt = performance.now();
    const residualsOf = (await this.#controlNets?.run(rows, size)) ?? (() => []);
    const controlMs = performance.now() - begunAt;
    let runMs = controlMs;
    for (const call of this.#inputs.calls(rows, size, padTo)) {
      Object.assign(call.feeds, this.#residuals.feeds(call.batch, residualsOf));
      const startedAt = performance.now();
      const { [this.#output]: output } = await this.#session.run(call.feeds, [this.#output]);
      runMs += performance.now() - startedAt;
      if (!isFloat(output)) throw new TypeError(`The UNet's output is ${output.type}, wanted a float type.`);
      calls.push(call);
      outputs.push(output);
    }
    const output = calls.length === 1 ? outputs[0] : joinOutputs(outputs, calls, rows.length);
    const rowLength = this.latentChannels * size.height * size.width;
    if (this.#rowMemory.length !== rowLength) this.#rowMemory = new Float32Array(rowLength);
    return new NoisePredictions(output, rows.length, this.#rowMemory, runMs, controlMs);
  }

  /** Copies, which later runs leave alone. */
  async results(rows: readonly UnetRow[], size: LatentSize): Promise<Float32Array[]> {
    const { rows: predictions } = await this.predict(rows, size);
    return predictions.map((prediction) => prediction.slice());
  }

  async close(): Promise<void> {
    await this.#session.close();
  }
}

const isFloat = (tensor: Tensor): tensor is Tensor<FloatType> =>
  tensor.type === 'float32' || tensor.type === 'float16';
