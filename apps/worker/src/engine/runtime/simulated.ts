/**
 * A simulated device whose runs take as long as a given latency model says, for benchmarks and queue tests. It reads the
 * names, types and shapes of Stable Diffusion's graphs from real model folders, but runs no node of them: each row
 * of a result is a cheap function of the same row of the inputs, so results do not depend on the other rows.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DATA_TYPE, toNumber, type ValueInfoProto } from '@lehr/onnx-model';
import { LehrError } from '@lehr/shared';
import { z } from 'zod';
import { readGraph } from './external-data.ts';
import { checkFeeds } from './graph-values.ts';
import type { GraphSource, InferenceRuntime, RuntimeSession, ValueInfo } from './runtime.ts';
import { finish } from './session-around.ts';
import {
  type ElementType,
  elementCount,
  type FloatType,
  floatTensor,
  floatValues,
  type Tensor,
} from './tensor.ts';

export interface LatencyModel {
  /** One UNet run takes `stepBaseMs + stepPerRowMs * rows`, and at least `stepLeastMs`. */
  readonly stepBaseMs: number;
  readonly stepPerRowMs: number;
  readonly stepLeastMs?: number;
  /** The VAE, per picture. */
  readonly pictureMs: number;
  /** The text encoder, per run. */
  readonly textMs: number;
  /** Height x width of the latent that the times of rows and pictures hold for, others in proportion; absent: they hold for all. */
  readonly latentArea?: number;
}

/** An NVIDIA T4 with Stable Diffusion 1.5, fp16, 512x512: within 0.4 % of diffusers' published step times. */
export const SIMULATED_T4: LatencyModel = { stepBaseMs: 9, stepPerRowMs: 61.9, pictureMs: 260, textMs: 12 };

export interface SimulatedOptions {
  readonly latency?: LatencyModel;
  /**
   * Waits for the duration of a run. Default: blocks this thread, as a real run does, for the duration less the time that
   * computing the result took. Tests on a fake clock pass a function, which gets the whole duration.
   */
  readonly pause?: (durationMs: number) => void | Promise<void>;
}

export function createSimulatedRuntime(options: SimulatedOptions = {}): InferenceRuntime {
  const { latency = SIMULATED_T4, pause } = options;
  return {
    load: async (graph, { largestPiece = 1 }) =>
      new SimulatedSession(graph, latency, { pause, pieces: Math.ceil(1 / largestPiece) }),
  };
}

type Feeds = Readonly<Record<string, Tensor>>;

/** What a run of a kind of graph takes and returns. */
interface GraphKind {
  /** `dims`: of the first input. */
  readonly durationMs: (dims: readonly number[], latency: LatencyModel) => number;
  readonly run: (
    feeds: Feeds,
    output: ValueInfo,
  ) => { readonly values: Float32Array; readonly dims: readonly number[] };
}

class SimulatedSession implements RuntimeSession {
  readonly provider = 'simulated';
  readonly placement = undefined;
  readonly refusals = [];
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  readonly #path: string;
  readonly #kind: GraphKind;
  readonly #latency: LatencyModel;
  readonly #pause: SimulatedOptions['pause'];
  /** Of equal duration. */
  readonly pieces: number;
  #closed = false;

  constructor(
    source: GraphSource,
    latency: LatencyModel,
    { pause, pieces }: Pick<SimulatedOptions, 'pause'> & { readonly pieces: number },
  ) {
    const { graph } = readGraph(source);
    this.inputs = (graph.input ?? []).map(toValueInfo);
    this.outputs = (graph.output ?? []).map(toValueInfo);
    this.#path = source.path;
    this.#kind = kindOf(this.inputs, this.outputs, source.path);
    this.#latency = latency;
    this.#pause = pause;
    this.pieces = pieces;
  }

  run(feeds: Feeds, outputs?: readonly string[]): Promise<Record<string, Tensor>> {
    return finish(this.runInPieces(feeds, outputs));
  }

  async *runInPieces(
    feeds: Feeds,
    outputs: readonly string[] = this.outputs.map(({ name }) => name),
  ): AsyncGenerator<void, Record<string, Tensor>> {
    if (this.#closed) throw new LehrError('engine-failed', `${this.#path} was closed.`);
    checkFeeds(this.#path, this.inputs, feeds);
    // As in ONNX Runtime, a run starts in a later turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    const durationMs = this.#kind.durationMs(feeds[this.inputs[0].name].dims, this.#latency) / this.pieces;
    for (let left = this.pieces - 1; left > 0; left -= 1) {
      await this.#wait(durationMs);
      yield;
    }
    const startedAt = performance.now();
    const results = Object.fromEntries(outputs.map((name) => [name, this.#compute(feeds, name)]));
    await this.#wait(durationMs, performance.now() - startedAt);
    return results;
  }

  /** `spentMs`: of the duration, has passed already where time is real. */
  async #wait(durationMs: number, spentMs = 0): Promise<void> {
    if (this.#pause) await this.#pause(durationMs);
    else blockThread(durationMs - spentMs);
  }

  #compute(feeds: Feeds, name: string): Tensor {
    const output = this.outputs.find((candidate) => candidate.name === name);
    if (!output) throw new LehrError('engine-failed', `${this.#path} has no output "${name}".`);
    const { values, dims } = this.#kind.run(feeds, output);
    return floatTensor(output.type as FloatType, values, dims);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }
}

function blockThread(durationMs: number): void {
  if (durationMs > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);
}

function kindOf(inputs: readonly ValueInfo[], outputs: readonly ValueInfo[], path: string): GraphKind {
  switch (inputs[0]?.name) {
    case 'sample':
      return outputs[0]?.name === 'latent_parameters' ? vaeEncoderKind(path) : unetKind;
    case 'input_ids':
      return textEncoderKind;
    case 'latent_sample':
      return vaeDecoderKind(path);
    default:
      throw new LehrError(
        'model-unavailable',
        `The simulated device has only Stable Diffusion's graphs, not ${path}.`,
      );
  }
}

/** Rows of the latent that the times hold for, from `[rows, channels, height, width]` of this one. */
const rowsByArea = ([rows, , height, width]: readonly number[], { latentArea }: LatencyModel): number =>
  latentArea === undefined ? rows : (rows * height * width) / latentArea;

/** The latent, scaled by 0.9 so that a whole denoising loop stays finite, and shifted by prompt and timestep. */
const unetKind: GraphKind = {
  durationMs: (dims, latency) => {
    const { stepBaseMs, stepPerRowMs, stepLeastMs = 0 } = latency;
    return Math.max(stepLeastMs, stepBaseMs + stepPerRowMs * rowsByArea(dims, latency));
  },
  run({ sample, timestep, encoder_hidden_states: text }) {
    const values = floatValues(sample).slice();
    const texts = floatValues(text);
    const rows = sample.dims[0];
    const [rowLength, textLength] = [values.length / rows, texts.length / rows];
    for (let row = 0; row < rows; row += 1) {
      const time = numberAt(timestep, timestep.data.length === 1 ? 0 : row);
      let prompt = 0;
      for (let i = row * textLength; i < (row + 1) * textLength; i += 1) prompt += texts[i];
      const shift = 0.1 * Math.sin(prompt + time / 100);
      for (let i = row * rowLength; i < (row + 1) * rowLength; i += 1) values[i] = 0.9 * values[i] + shift;
    }
    return { values, dims: sample.dims };
  },
};

const textEncoderKind: GraphKind = {
  durationMs: (_dims, latency) => latency.textMs,
  run({ input_ids: ids }, output) {
    const width = output.dims.at(-1);
    if (typeof width !== 'number')
      throw new LehrError('model-unavailable', `The output "${output.name}" has no fixed width.`);
    const tokens = ids.dims[1];
    const dims = [...ids.dims.slice(0, output.dims.length - 1), width];
    // An output of rank 3 has a vector per token, one of rank 2 a vector per prompt.
    const tokensPerVector = dims.length === 3 ? 1 : tokens;
    const values = Float32Array.from({ length: elementCount(dims) }, (_, i) => {
      const token = Math.floor(i / width) * tokensPerVector;
      return Math.sin(numberAt(ids, token) * 0.37 + (token % tokens) * 0.11 + (i % width) * 0.7);
    });
    return { values, dims };
  },
};

/** Pictures are `2 ** (block_out_channels.length - 1)` times their latents in height and width. */
const VaeConfigSchema = z.object({ block_out_channels: z.array(z.number()).min(1) });

function vaeScale(path: string): number {
  const config = VaeConfigSchema.parse(JSON.parse(readFileSync(join(dirname(path), 'config.json'), 'utf8')));
  return 2 ** (config.block_out_channels.length - 1);
}

/** One pixel of each square becomes a mean; no variance. */
function vaeEncoderKind(path: string): GraphKind {
  const scale = vaeScale(path);
  return {
    durationMs: ([rows, channels, height, width], latency) =>
      latency.pictureMs * rowsByArea([rows, channels, height / scale, width / scale], latency),
    run({ sample }, output) {
      const [rows, channels, height, width] = sample.dims;
      const dims = [rows, Number(output.dims[1]), height / scale, width / scale];
      const pixels = floatValues(sample);
      const plane = dims[2] * dims[3];
      const values = Float32Array.from({ length: elementCount(dims) }, (_, i) => {
        const channel = Math.floor(i / plane) % dims[1];
        if (channel >= dims[1] / 2) return -30;
        const [y, x] = [Math.floor((i % plane) / dims[3]), i % dims[3]];
        const row = Math.floor(i / (plane * dims[1]));
        return pixels[((row * channels + (channel % channels)) * height + y * scale) * width + x * scale];
      });
      return { values, dims };
    },
  };
}

function vaeDecoderKind(path: string): GraphKind {
  const scale = vaeScale(path);
  return {
    durationMs: (dims, latency) => latency.pictureMs * rowsByArea(dims, latency),
    run: ({ latent_sample: latent }) => enlarge(floatValues(latent), latent.dims, scale),
  };
}

/** Three of the latent's channels; each value becomes a square of pixels, compressed to -1 to 1. */
function enlarge(latent: Float32Array, [rows, channels, height, width]: readonly number[], scale: number) {
  const dims = [rows, 3, height * scale, width * scale];
  const values = new Float32Array(elementCount(dims));
  let out = 0;
  for (let plane = 0; plane < rows * 3; plane += 1) {
    const from = (Math.floor(plane / 3) * channels + ((plane % 3) % channels)) * height * width;
    for (let y = 0; y < dims[2]; y += 1) {
      const line = from + Math.floor(y / scale) * width;
      for (let x = 0; x < dims[3]; x += 1) {
        const value = latent[line + Math.floor(x / scale)];
        values[out] = value / (1 + Math.abs(value));
        out += 1;
      }
    }
  }
  return { values, dims };
}

const numberAt = (tensor: Tensor, index: number): number =>
  tensor.type === 'float16' ? floatValues(tensor)[index] : Number(tensor.data[index]);

const ELEMENT_TYPE_OF = new Map(
  Object.entries(DATA_TYPE).map(([name, code]): [number, string] => [code, name]),
);

function toValueInfo({ name, type }: ValueInfoProto): ValueInfo {
  const { elemType, shape } = type?.tensorType ?? {};
  return {
    name: name ?? '',
    type: ELEMENT_TYPE_OF.get(elemType ?? 0) as ElementType,
    dims: (shape?.dim ?? []).map(({ dimValue, dimParam }) => dimParam || toNumber(dimValue) || ''),
  };
}
