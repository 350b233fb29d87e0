/** What the graphs of a step read for each row: UNets and ControlNets take latent, timestep, prompt and the conditions of their family. */
import { LehrError } from '@lehr/shared';
import { ADAPTER_SCALES, type AdapterScale, stackScales } from '../models/adapters/add-adapters.ts';
import { expectSize, expectType } from '../runtime/graph-values.ts';
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
import { callsByLength, MAX_SHARED_TOKENS, RepeatedEmbeddings, type SharedCall } from './shared-calls.ts';

/** One row of the batch; a sample with guidance takes two. */
export interface FedRow {
  /** `[input channels, height, width]`: the latent, scaled by the sampler, and what the graph reads beside it. */
  readonly latent: Float32Array;
  /** The timestep of this row's step; fractional for Euler. */
  readonly timestep: number;
  /** `[tokens, embeddingDim]` */
  readonly promptEmbedding: Float32Array;
  /** A value for each of `RowFeeds.conditions`. */
  readonly conditions?: Conditions;
  /** The adapters that act on this row, and how strongly. */
  readonly adapters?: readonly AdapterScale[];
}

export interface LatentSize {
  readonly height: number;
  readonly width: number;
}

export interface RowFeedsConfig {
  /** Sizes that the graph may leave free; undefined when the config does not give them either. */
  readonly inputChannels?: number | undefined;
  readonly embeddingDim?: number | undefined;
  readonly conditions?: Partial<Record<ConditionName, number | undefined>>;
  /**
   * Whether rows with prompts of different lengths share a run. Default: on every provider but cpu. There a second run costs little, and a row
   * keeps its bits whoever runs beside it: repeated keys are summed in another order, and a pixel here and there would differ by one.
   */
  readonly sharesLengths?: boolean;
  /** The adapters that the graph has, in the order of its scales. */
  readonly adapters?: readonly string[];
}

interface ConditionInput {
  /** The graph's own name. */
  readonly input: string;
  readonly type: NumberType;
  readonly length: number;
  readonly stack: RowStack;
}

/** Rows that run together, and the tensors of the run. */
export interface FedCall<Row> extends SharedCall {
  /** The rows of the run: those of the call, and the last one again up to the size of the batch. */
  readonly batch: readonly Row[];
  readonly feeds: Record<string, Tensor>;
}

/** How the names of inputs begin that Lehr adds to a graph (folder/rewire-unet.ts). */
const ADDED_INPUTS = 'lehr_';

export class RowFeeds {
  readonly batching: Batching;
  readonly inputChannels: number;
  readonly embeddingDim: number;
  /** The batch size, if the graph fixes it: fewer rows are padded, more are refused. */
  readonly fixedRows: number | undefined;
  /** Those that can act on a row. */
  readonly adapters: readonly string[];
  readonly #graph: string;
  readonly #sample: ValueInfo & { readonly type: FloatType };
  readonly #text: { readonly name: string; readonly type: FloatType; readonly takesAnyLength: boolean };
  readonly #timestep: { readonly name: string; readonly type: NumberType; readonly isScalar: boolean };
  readonly #conditions: ReadonlyMap<ConditionName, ConditionInput>;
  readonly #maxSharedTokens: number;
  readonly #latents = new RowStack();
  readonly #texts = new RowStack({ constant: true });
  readonly #repeated = new RepeatedEmbeddings();

  /** `beside`: inputs that it knows nothing of. Throws LehrError `model-unavailable` when the session has not these inputs, or further ones. */
  constructor(
    graph: string,
    session: RuntimeSession,
    batching: Batching,
    config: RowFeedsConfig,
    beside: readonly string[] = [],
  ) {
    const stock = session.inputs.filter(
      ({ name }) => !name.startsWith(ADDED_INPUTS) && !beside.includes(name),
    );
    const names = unetInputNames(
      stock.map(({ name, dims }) => ({ name, rank: dims.length })),
      graph,
    );
    const inputOf = (name: string): ValueInfo =>
      session.inputs.find((input) => input.name === name) as ValueInfo;
    const [sample, timestep, text] = [names.sample, names.timestep, names.text].map(inputOf);
    this.#graph = graph;
    this.batching = batching;
    this.adapters = config.adapters ?? [];
    this.#maxSharedTokens = (config.sharesLengths ?? session.provider !== 'cpu') ? MAX_SHARED_TOKENS : 0;
    this.#sample = { ...sample, type: expectType(graph, sample, FLOAT_TYPES) };
    this.#text = {
      name: text.name,
      type: expectType(graph, text, FLOAT_TYPES),
      takesAnyLength: typeof text.dims[1] !== 'number',
    };
    this.#timestep = {
      name: timestep.name,
      type: expectType(graph, timestep, NUMBER_TYPES),
      isScalar: timestep.dims.length === 0,
    };
    this.#conditions = new Map(
      [...names.conditions].map(([name, own]) => [
        name,
        conditionInput(graph, inputOf(own), config.conditions?.[name]),
      ]),
    );
    this.inputChannels = expectSize(graph, sample, 1, config.inputChannels);
    this.embeddingDim = expectSize(graph, text, 2, config.embeddingDim);
    this.fixedRows = typeof sample.dims[0] === 'number' ? sample.dims[0] : undefined;
  }

  /** The conditions that every row must have, with their lengths. */
  get conditions(): ReadonlyMap<ConditionName, number> {
    return new Map([...this.#conditions].map(([name, { length }]) => [name, length]));
  }

  /** Whether a prompt may have more tokens than one chunk: a graph can fix their number. */
  get takesLongPrompts(): boolean {
    return this.#text.takesAnyLength;
  }

  /** The latent size that the graph fixes, else the given one. */
  sizeOr({ height, width }: LatentSize): LatentSize {
    const [, , ownHeight, ownWidth] = this.#sample.dims;
    return {
      height: typeof ownHeight === 'number' ? ownHeight : height,
      width: typeof ownWidth === 'number' ? ownWidth : width,
    };
  }

  /**
   * The runs of these rows: one where their prompts can share it (shared-calls.ts). The batch of a single run is padded to `padTo` rows. The
   * tensors of a call are valid until the next one. Throws LehrError `engine-failed` for rows that cannot be in a run.
   */
  *calls<Row extends FedRow>(
    rows: readonly Row[],
    size: LatentSize,
    padTo = rows.length,
  ): Generator<FedCall<Row>> {
    this.#check(rows, this.inputChannels * size.height * size.width);
    const tokens = rows.map(({ promptEmbedding }) => promptEmbedding.length / this.embeddingDim);
    const calls = callsByLength(tokens, this.#maxSharedTokens);
    for (const call of calls) {
      const own = calls.length === 1 ? rows : call.rows.map((index) => rows[index]);
      const batch = this.#pad(own, calls.length === 1 ? padTo : own.length);
      yield {
        ...call,
        ...(calls.length === 1 && { rows: [...rows.keys()] }),
        batch,
        feeds: this.#feeds(batch, size, call.tokens),
      };
    }
  }

  #feeds(batch: readonly FedRow[], { height, width }: LatentSize, tokens: number): Record<string, Tensor> {
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
    if (this.adapters.length > 0) feeds[ADAPTER_SCALES] = stackScales(this.adapters, batch);
    return feeds;
  }

  #check(rows: readonly FedRow[], rowLength: number): void {
    const fail = (problem: string): LehrError => new LehrError('engine-failed', problem);
    const misfit = (what: string, length: number, wanted: number | string): LehrError =>
      fail(`The ${this.#graph} was given ${what} of ${length} values, wanted ${wanted}.`);
    if (rows.length === 0) throw fail(`A run of the ${this.#graph} needs at least one row, got none.`);
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
        throw fail(`This ${this.#graph} takes one timestep for all rows of a run, got ${both}.`);
      }
    }
  }

  #pad<Row>(rows: readonly Row[], padTo: number): readonly Row[] {
    const wanted = this.fixedRows ?? Math.max(padTo, rows.length);
    if (rows.length > wanted) {
      throw new LehrError(
        'engine-failed',
        `This ${this.#graph} was exported for ${wanted} rows a run, got ${rows.length}.`,
      );
    }
    return [...rows, ...new Array<Row>(wanted - rows.length).fill(rows[rows.length - 1])];
  }

  #stackTimesteps(batch: readonly FedRow[]): Tensor {
    const rows = this.batching.mode === 'rows' ? batch : batch.slice(0, 1);
    const timesteps = rows.map(({ timestep }) => timestep);
    // A graph with whole timesteps gets the nearest one, not the truncated one of diffusers' ONNX pipeline: that halves
    // the error of the noise level, and makes no difference for samplers with whole timesteps.
    return numberTensor(this.#timestep.type, timesteps, this.#timestep.isScalar ? [] : [timesteps.length]);
  }
}

function conditionInput(graph: string, input: ValueInfo, fromConfig: number | undefined): ConditionInput {
  const length = expectSize(graph, input, 1, fromConfig);
  const type = expectType(graph, input, NUMBER_TYPES);
  return { input: input.name, type, length, stack: new RowStack({ constant: true }) };
}

function stackConditions(
  batch: readonly FedRow[],
  name: ConditionName,
  { type, length, stack }: ConditionInput,
): Tensor {
  const dims = [batch.length, length];
  const rows = batch.map(({ conditions }) => conditions?.[name] ?? new Float32Array(0));
  if (type === 'float32' || type === 'float16') return stack.stack(type, rows, dims);
  const values = rows.flatMap((row) => [...row]);
  return numberTensor(type, values, dims);
}
