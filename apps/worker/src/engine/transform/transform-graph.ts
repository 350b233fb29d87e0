/** Runs a graph that takes pictures: finds out how it takes them and which of its outputs is the result, and stacks rows of one size. */
import { LehrError } from '@lehr/shared';
import { expectType } from '../runtime/graph-values.ts';
import { RowStack } from '../runtime/row-stack.ts';
import type { RuntimeSession, ValueInfo } from '../runtime/runtime.ts';
import { FLOAT_TYPES, type FloatType, floatValues, type Tensor } from '../runtime/tensor.ts';
import type { PictureSize } from '../values/resize.ts';
import type { Layout } from './preparation.ts';

/** What the graph gives for one row: its values, and their shape without the axis of rows. */
export interface RowOutput {
  readonly values: Float32Array;
  readonly dims: readonly number[];
}

/** Outputs that are the result, in the order of preference; a graph with none of them has it first. */
const RESULTS = ['logits', 'predicted_depth', 'reconstruction', 'alphas', 'has_nsfw_concepts'];
/** diffusers' safety checker also takes the pictures, which it gives back black. Nothing of what is wanted depends on them. */
const UNREAD_INPUT = 'images';
const UNREAD_SIDE = 8;

interface PictureValue extends ValueInfo {
  readonly type: FloatType;
}

export class TransformGraph {
  readonly #session: RuntimeSession;
  readonly #input: PictureValue;
  readonly #unread: PictureValue | undefined;
  readonly #stack = new RowStack();
  readonly output: ValueInfo;
  readonly layout: Layout;
  /** Of what it takes; undefined when the graph does not say. */
  readonly channels: number | undefined;
  /** Rows of every run, when the graph takes no other number. */
  readonly fixedRows: number | undefined;
  /** Undefined when it takes pictures of any size. */
  readonly fixedSize: PictureSize | undefined;

  /** Throws LehrError `model-unavailable` when the session is no graph of pictures. */
  constructor(session: RuntimeSession) {
    const pictures = session.inputs.filter(({ dims }) => dims.length === 4).map(floatInput);
    const input = pictures.find(({ name }) => name !== UNREAD_INPUT) ?? pictures[0];
    const rest = session.inputs.filter(({ name }) => name !== input?.name);
    if (!input || rest.some(({ name }) => name !== UNREAD_INPUT)) {
      const names = session.inputs.map(({ name, dims }) => `${name} [${dims.join(', ')}]`).join(', ');
      throw unusable(`it must take one picture, [rows, channels, height, width]; it takes ${names}`);
    }
    this.#session = session;
    this.#input = input;
    this.#unread = pictures.find(({ name }) => name !== input.name);
    const named = RESULTS.flatMap((name) => session.outputs.find((output) => output.name === name) ?? []);
    this.output = named[0] ?? session.outputs[0];
    const [rows, ...dims] = input.dims;
    const isLast = !isChannels(dims[0]) && isChannels(dims[2]);
    this.layout = isLast ? 'channels-last' : 'channels-first';
    const [channels, height, width] = isLast ? [dims[2], dims[0], dims[1]] : dims;
    this.channels = isChannels(channels) ? channels : undefined;
    if (typeof channels === 'number' && !isChannels(channels)) {
      throw unusable(`"${input.name}" has ${channels} channels, wanted 1 or 3`);
    }
    this.fixedRows = typeof rows === 'number' ? rows : undefined;
    this.fixedSize = typeof height === 'number' && typeof width === 'number' ? { height, width } : undefined;
  }

  get provider(): RuntimeSession['provider'] {
    return this.#session.provider;
  }

  /**
   * The results of rows of one size, in the layout of the graph. `padTo` at least as many rows run, of which the last ones repeat. Throws
   * what a session throws, and LehrError `engine-failed` for a result of another number of rows.
   */
  async run(rows: readonly Float32Array[], size: PictureSize, padTo = rows.length): Promise<RowOutput[]> {
    const count = this.fixedRows ?? Math.max(padTo, rows.length);
    const padded = [...rows, ...new Array(Math.max(0, count - rows.length)).fill(rows[rows.length - 1])];
    const channels = rows[0].length / (size.height * size.width);
    const dims = this.#dims(padded.length, channels, size);
    const feeds: Record<string, Tensor> = {
      [this.#input.name]: this.#stack.stack(this.#input.type, padded, dims),
    };
    if (this.#unread) feeds[this.#unread.name] = nothingOf(this.#unread, padded.length);
    const { [this.output.name]: result } = await this.#session.run(feeds, [this.output.name]);
    if (result.dims[0] !== padded.length) {
      const shape = `[${result.dims.join(', ')}] for ${padded.length} rows`;
      throw new LehrError('engine-failed', `"${this.output.name}" of the graph is ${shape}.`);
    }
    const values = result.type === 'bool' ? Float32Array.from(result.data) : floatValues(result);
    const length = values.length / padded.length;
    return rows.map((_, i) => ({
      values: values.subarray(i * length, (i + 1) * length),
      dims: result.dims.slice(1),
    }));
  }

  #dims(rows: number, channels: number, { height, width }: PictureSize): number[] {
    return this.layout === 'channels-last'
      ? [rows, height, width, channels]
      : [rows, channels, height, width];
  }
}

function floatInput(value: ValueInfo): PictureValue {
  return { ...value, type: expectType('picture', value, FLOAT_TYPES) };
}

const isChannels = (dim: number | string): dim is 1 | 3 => dim === 1 || dim === 3;

function nothingOf({ type, dims }: PictureValue, rows: number): Tensor<FloatType> {
  const sides = dims.map((dim, axis) => {
    if (axis === 0) return rows;
    if (typeof dim === 'number') return dim;
    return axis === 3 ? 3 : UNREAD_SIDE;
  });
  const length = sides.reduce((product, side) => product * side, 1);
  return type === 'float32'
    ? { type, data: new Float32Array(length), dims: sides }
    : { type, data: new Uint16Array(length), dims: sides };
}

export const unusable = (problem: string): LehrError =>
  new LehrError('model-unavailable', `The graph cannot be used: ${problem}.`);
