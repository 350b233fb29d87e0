/** The UNet: rows with their own timesteps in, noise predictions out. */
import { LehrError } from '@lehr/shared';
import { expectOutput, expectSize, expectType } from '../runtime/graph-values.ts';
import { RowStack } from '../runtime/row-stack.ts';
import type { Batching, RuntimeSession, ValueInfo } from '../runtime/runtime.ts';
import {
  FLOAT_TYPES,
  type FloatType,
  NUMBER_TYPES,
  type NumberType,
  numberTensor,
  type Tensor,
} from '../runtime/tensor.ts';
import { type ConditionName, type Conditions, unetInputNames } from './conditioning.ts';
import { NoisePredictions } from './model-output.ts';
import { callsByLength, joinOutputs, MAX_SHARED_TOKENS, RepeatedEmbeddings } from './shared-calls.ts';

/** One row of the batch; a sample with guidance takes two. */
export interface UnetRow {
  /** `[input channels, height, width]`: the latent, scaled by the sampler, and what the graph reads beside it. */
  readonly latent: Float32Array;
  /** The timestep of this row's step; fractional for Euler. */
  readonly timestep: number;
  /** `[tokens, embeddingDim]` */
  readonly promptEmbedding: Float32Array;
  /** A value for each of `Unet.conditions`. */
  readonly conditions?: Conditions;
}

export interface LatentSize {
  readonly height: number;
  readonly width: number;
}

export interface UnetConfig {
  /** Sizes that the graph may leave free; undefined when the config does not give them either. */
  readonly inputChannels?: number | undefined;
  /** Those of its output; as many as of its input when absent. */
  readonly latentChannels?: number | undefined;
  readonly embeddingDim?: number | undefined;
  readonly conditions?: Partial<Record<ConditionName, number | undefined>>;
  /**
   * Whether rows with prompts of different lengths share a run. Default: on every provider but cpu. There a second run costs little, and a row
   * keeps its bits whoever runs beside it: repeated keys are summed in another order, and a pixel here and there would differ by one.
   */
  readonly sharesLengths?: boolean;
}

/** How the names of inputs begin that Lehr adds to a graph (folder/rewire-unet.ts). */
const ADDED_INPUTS = 'lehr_';

interface ConditionInput {
  /** The graph's own name. */
  readonly input: string;
  readonly type: NumberType;
  readonly length: number;
  readonly stack: RowStack;
}

export class Unet {
  readonly batching: Batching;
  readonly latentChannels: number;
  /** More than those of the latent, when the graph reads a mask and the masked picture too. */
  readonly inputChannels: number;
  readonly embeddingDim: number;
  /** The batch size, if the graph fixes it: fewer rows are padded, more are refused. */
  readonly fixedRows: number | undefined;
  readonly #session: RuntimeSession;
  readonly #sample: { readonly name: string; readonly type: FloatType };
  readonly #text: { readonly name: string; readonly type: FloatType; readonly takesAnyLength: boolean };
  readonly #timestep: { readonly name: string; readonly type: NumberType; readonly isScalar: boolean };
  readonly #conditions: ReadonlyMap<ConditionName, ConditionInput>;
  readonly #output: string;
  readonly #maxSharedTokens: number;
  readonly #latents = new RowStack();
  readonly #texts = new RowStack({ constant: true });
  readonly #repeated = new RepeatedEmbeddings();
  /** For sums with the prediction for one sample. */
  #rowMemory = new Float32Array(0);

  /** Throws LehrError `model-unavailable` when the session is not a Stable Diffusion UNet. */
  constructor(session: RuntimeSession, batching: Batching, config: UnetConfig = {}) {
    const stock = session.inputs.filter(({ name }) => !name.startsWith(ADDED_INPUTS));
    const names = unetInputNames(stock.map(({ name, dims }) => ({ name, rank: dims.length })));
    const inputOf = (name: string): ValueInfo =>
      session.inputs.find((input) => input.name === name) as ValueInfo;
    const [sample, timestep, text] = [names.sample, names.timestep, names.text].map(inputOf);
    this.#session = session;
    this.batching = batching;
    this.#maxSharedTokens = (config.sharesLengths ?? session.provider !== 'cpu') ? MAX_SHARED_TOKENS : 0;
    this.#sample = { name: sample.name, type: expectType('unet', sample, FLOAT_TYPES) };
    this.#text = {
      name: text.name,
      type: expectType('unet', text, FLOAT_TYPES),
      takesAnyLength: typeof text.dims[1] !== 'number',
    };
    this.#timestep = {
      name: timestep.name,
      type: expectType('unet', timestep, NUMBER_TYPES),
      isScalar: timestep.dims.length === 0,
    };
    this.#conditions = new Map(
      [...names.conditions].map(([name, own]) => [
        name,
        conditionInput(inputOf(own), config.conditions?.[name]),
      ]),
    );
    this.#output = expectOutput('unet', session, ['out_sample', 'sample']).name;
    this.inputChannels = expectSize('unet', sample, 1, config.inputChannels);
    this.latentChannels = config.latentChannels ?? this.inputChannels;
    this.embeddingDim = expectSize('unet', text, 2, config.embeddingDim);
    this.fixedRows = typeof sample.dims[0] === 'number' ? sample.dims[0] : undefined;
  }

  /** Whether each row holds the latent, the mask and the latent of the masked picture, as inpainting models were trained. */
  get readsMask(): boolean {
    return this.inputChannels === 2 * this.latentChannels + 1;
  }

  /** The conditions that every row must have, with their lengths. */
  get conditions(): ReadonlyMap<ConditionName, number> {
    return new Map([...this.#conditions].map(([name, { length }]) => [name, length]));
  }

  /** Whether a prompt may have more tokens than one chunk: a graph can fix their number. */
  get takesLongPrompts(): boolean {
    return this.#text.takesAnyLength;
  }

  /**
   * Predicts the noise of every row, in one run where their prompts can share it (shared-calls.ts). The batch is padded to `padTo` rows, for
   * providers that tune per shape: the extra rows repeat the last one and their results are dropped. Throws what RuntimeSession.run throws,
   * and LehrError `engine-failed` for rows that cannot be in one run.
   */
  async predict(rows: readonly UnetRow[], size: LatentSize, padTo = rows.length): Promise<NoisePredictions> {
    const area = size.height * size.width;
    const rowLength = this.latentChannels * area;
    this.#checkRows(rows, this.inputChannels * area);
    const tokens = rows.map(({ promptEmbedding }) => promptEmbedding.length / this.embeddingDim);
    const calls = callsByLength(tokens, this.#maxSharedTokens);
    const outputs: Tensor<FloatType>[] = [];
    let runMs = 0;
    for (const { rows: indices, tokens } of calls) {
      const own = calls.length === 1 ? rows : indices.map((index) => rows[index]);
      const batch = this.#pad(own, calls.length === 1 ? padTo : own.length);
      const feeds = this.#feeds(batch, size, tokens);
      const startedAt = performance.now();
      const { [this.#output]: output } = await this.#session.run(feeds, [this.#output]);
      runMs += performance.now() - startedAt;
      if (!isFloat(output)) throw new TypeError(`The UNet's output is ${output.type}, wanted a float type.`);
      outputs.push(output);
    }
    const output = calls.length === 1 ? outputs[0] : joinOutputs(outputs, calls, rows.length);
    if (this.#rowMemory.length !== rowLength) this.#rowMemory = new Float32Array(rowLength);
    return new NoisePredictions(output, rows.length, this.#rowMemory, runMs);
  }

  #feeds(batch: readonly UnetRow[], { height, width }: LatentSize, tokens: number): Record<string, Tensor> {
    const latents = batch.map(({ latent }) => latent);
    const length = tokens * this.embeddingDim;
    const embeddings = batch.map(({ promptEmbedding }) => promptEmbedding);
    const texts = this.#repeated.of(embeddings, length);
    const latentDims = [batch.length, this.inputChannels, height, width];
    const feeds: Record<string, Tensor> = {
      [this.#sample.name]: this.#latents.stack(this.#sample.type, latents, latentDims),
      [this.#timestep.name]: this.#stackTimesteps(batch),
      [this.#text.name]: this.#texts.stack(this.#text.type, texts, [batch.length, tokens, this.embeddingDim]),
    };
    for (const [name, condition] of this.#conditions) {
      feeds[condition.input] = stackConditions(batch, name, condition);
    }
    return feeds;
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  #checkRows(rows: readonly UnetRow[], rowLength: number): void {
    if (rows.length === 0)
      throw new LehrError('engine-failed', 'A UNet run needs at least one row, got none.');
    const [first] = rows;
    for (const { latent, promptEmbedding, timestep, conditions } of rows) {
      for (const [name, { length }] of this.#conditions) {
        const came = conditions?.[name]?.length ?? 0;
        if (came !== length) throw misfit(`a "${name}"`, came, length);
      }
      if (latent.length !== rowLength) throw misfit('a latent', latent.length, rowLength);
      const values = promptEmbedding.length;
      if (values === 0 || values % this.embeddingDim !== 0) {
        throw misfit('a prompt embedding', values, `a multiple of ${this.embeddingDim}`);
      }
      if (this.batching.mode === 'aligned' && timestep !== first.timestep) {
        const both = `${first.timestep} and ${timestep}`;
        throw new LehrError(
          'engine-failed',
          `This UNet takes one timestep for all rows of a run, got ${both}.`,
        );
      }
    }
  }

  #pad(rows: readonly UnetRow[], padTo: number): readonly UnetRow[] {
    const wanted = this.fixedRows ?? Math.max(padTo, rows.length);
    if (rows.length > wanted) {
      throw new LehrError(
        'engine-failed',
        `This UNet was exported for ${wanted} rows a run, got ${rows.length}.`,
      );
    }
    return [...rows, ...new Array<UnetRow>(wanted - rows.length).fill(rows[rows.length - 1])];
  }

  #stackTimesteps(batch: readonly UnetRow[]): Tensor {
    const rows = this.batching.mode === 'rows' ? batch : batch.slice(0, 1);
    const timesteps = rows.map(({ timestep }) => timestep);
    // A graph with whole timesteps gets the nearest one, not the truncated one of diffusers' ONNX pipeline: that halves
    // the error of the noise level, and makes no difference for samplers with whole timesteps.
    return numberTensor(this.#timestep.type, timesteps, this.#timestep.isScalar ? [] : [timesteps.length]);
  }
}

function conditionInput(input: ValueInfo, fromConfig: number | undefined): ConditionInput {
  const length = expectSize('unet', input, 1, fromConfig);
  const type = expectType('unet', input, NUMBER_TYPES);
  return { input: input.name, type, length, stack: new RowStack({ constant: true }) };
}

function stackConditions(
  batch: readonly UnetRow[],
  name: ConditionName,
  { type, length, stack }: ConditionInput,
): Tensor {
  const dims = [batch.length, length];
  const rows = batch.map(({ conditions }) => conditions?.[name] ?? new Float32Array(0));
  if (type === 'float32' || type === 'float16') return stack.stack(type, rows, dims);
  const values = rows.flatMap((row) => [...row]);
  return numberTensor(type, values, dims);
}

const isFloat = (tensor: Tensor): tensor is Tensor<FloatType> =>
  tensor.type === 'float32' || tensor.type === 'float16';

const misfit = (what: string, length: number, wanted: number | string): LehrError =>
  new LehrError('engine-failed', `The UNet was given ${what} of ${length} values, wanted ${wanted}.`);
