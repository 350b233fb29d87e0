/** Runs an encoder's graph on texts of similar length: one row for each text, padded to the longest. */
import { LehrError } from '@lehr/shared';
import type { RuntimeSession, ValueInfo } from '../runtime/runtime.ts';
import { floatValues, type Tensor } from '../runtime/tensor.ts';
import type { EncodedText } from './tokenizer.ts';

/** An output of one row: `positions` rows of `width` values, or one when the output has no positions. Padding is included. */
export interface RowOutput {
  readonly values: Float32Array;
  readonly positions: number;
  readonly width: number;
}

export type RowOutputs = Readonly<Record<string, RowOutput>>;

const REQUIRED = ['input_ids', 'attention_mask'] as const;
const OPTIONAL = ['token_type_ids', 'position_ids'] as const;
const INTEGERS = ['int64', 'int32'] as const;
type IntegerType = (typeof INTEGERS)[number];

interface GraphOptions {
  readonly padId: number;
  /** `type_vocab_size` of the config: ids from there on become 0. */
  readonly tokenTypes: number;
  /** The position of the first token. */
  readonly firstPosition: number;
}

export class TextGraph {
  readonly #session: RuntimeSession;
  readonly #inputs: readonly { readonly name: string; readonly type: IntegerType }[];
  readonly #options: GraphOptions;

  /** Throws LehrError `model-unavailable` when the session is not an encoder of texts of free length and number. */
  constructor(session: RuntimeSession, options: GraphOptions) {
    const known: readonly string[] = [...REQUIRED, ...OPTIONAL];
    const extra = session.inputs.find(({ name }) => !known.includes(name));
    if (extra) throw unusable(`it wants an input "${extra.name}" that Lehr does not know`);
    if (!session.inputs.some(({ name }) => name === 'input_ids'))
      throw unusable('it has no input "input_ids"');
    this.#session = session;
    this.#inputs = session.inputs.map(integerInput);
    this.#options = options;
  }

  get outputs(): readonly ValueInfo[] {
    return this.#session.outputs;
  }

  get provider(): RuntimeSession['provider'] {
    return this.#session.provider;
  }

  /** Returns the wanted outputs of each text. Throws what a session throws, and `engine-failed` for an output that is no float. */
  async run(texts: readonly EncodedText[], wanted: readonly string[]): Promise<RowOutputs[]> {
    const length = texts.reduce((longest, { ids }) => Math.max(longest, ids.length), 1);
    const feeds: Record<string, Tensor> = {};
    for (const { name, type } of this.#inputs) {
      feeds[name] = integers(type, this.#values(name, texts, length), [texts.length, length]);
    }
    const results = await this.#session.run(feeds, wanted);
    const rows: Record<string, RowOutput>[] = texts.map(() => ({}));
    for (const name of wanted) {
      for (const [row, output] of splitRows(results[name], texts.length).entries()) rows[row][name] = output;
    }
    return rows;
  }

  #values(name: string, texts: readonly EncodedText[], length: number): Int32Array {
    const { padId, tokenTypes, firstPosition } = this.#options;
    const values = new Int32Array(texts.length * length).fill(name === 'input_ids' ? padId : 0);
    for (const [row, { ids, typeIds }] of texts.entries()) {
      const from = row * length;
      for (let i = 0; i < ids.length; i += 1) {
        if (name === 'input_ids') values[from + i] = ids[i];
        else if (name === 'attention_mask') values[from + i] = 1;
        else if (name === 'token_type_ids') values[from + i] = typeIds[i] < tokenTypes ? typeIds[i] : 0;
        else values[from + i] = firstPosition + i;
      }
    }
    return values;
  }
}

function integerInput({ name, type, dims }: ValueInfo): { name: string; type: IntegerType } {
  const integer = INTEGERS.find((candidate) => candidate === type);
  if (!integer) throw unusable(`its input "${name}" is ${type}, wanted ${INTEGERS.join(' or ')}`);
  if (dims.length !== 2 || dims.some((dim) => typeof dim === 'number')) {
    throw unusable(
      `its input "${name}" has the fixed shape [${dims.join(', ')}]; export it with a free batch and length`,
    );
  }
  return { name, type: integer };
}

/** Writes the low halves of 64-bit numbers, which are positive: a BigInt for each would cost more than the copy. */
function integers(type: IntegerType, values: Int32Array, dims: readonly number[]): Tensor {
  if (type === 'int32') return { type, data: values, dims };
  const data = new BigInt64Array(values.length);
  const halves = new Int32Array(data.buffer);
  for (let i = 0; i < values.length; i += 1) halves[2 * i] = values[i];
  return { type, data, dims };
}

function splitRows(tensor: Tensor, rows: number): RowOutput[] {
  if (tensor.type !== 'float32' && tensor.type !== 'float16') {
    throw new LehrError('engine-failed', `An output of the text graph is ${tensor.type}, wanted floats.`);
  }
  const values = floatValues(tensor);
  const size = values.length / rows;
  const width = tensor.dims[tensor.dims.length - 1];
  return Array.from({ length: rows }, (_, row) => ({
    values: values.subarray(row * size, (row + 1) * size),
    positions: size / width,
    width,
  }));
}

const unusable = (problem: string): LehrError =>
  new LehrError('model-unavailable', `The text graph cannot be used: ${problem}.`);

/**
 * Whether a graph's outputs for a text are numbers that an answer can be made of.
 *
 * Checks the values of one position. `masksLogits`: they are logits of a softmax, of which some may be -Infinity, which gives the score
 * 0; not all, because no score would be a number then. Throws LehrError `numeric-error`.
 */
export function checkValues({ values, width }: RowOutput, position: number, masksLogits: boolean): void {
  let largest = Number.NEGATIVE_INFINITY;
  for (let i = position * width; i < (position + 1) * width; i += 1) {
    const value = values[i];
    if (!Number.isFinite(value) && !(masksLogits && value === Number.NEGATIVE_INFINITY)) throw notFinite();
    if (value > largest) largest = value;
  }
  if (largest === Number.NEGATIVE_INFINITY) throw notFinite();
}

const notFinite = (): LehrError =>
  new LehrError('numeric-error', 'The text graph produced values that are not finite.');
