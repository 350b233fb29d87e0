/** The tensors of a UNet's inputs for residuals (add-residual-inputs.ts): for each row the sum of what its ControlNets add, and zeros for the others. */
import { LehrError } from '@lehr/shared';
import { expectType } from '../../runtime/graph-values.ts';
import { RowStack } from '../../runtime/row-stack.ts';
import type { RuntimeSession } from '../../runtime/runtime.ts';
import { FLOAT_TYPES, type FloatType, floatTensor, type Tensor } from '../../runtime/tensor.ts';
import { RESIDUAL_INPUT } from './add-residual-inputs.ts';
import type { Residual } from './control-net.ts';

/** What one ControlNet adds to a row, a residual for each input. */
export interface RowResiduals {
  readonly scale: number;
  readonly residuals: readonly Residual[];
}

interface Input {
  readonly name: string;
  readonly type: FloatType;
  /** Added to nothing, at no cost: one value for all. */
  readonly zeros: Tensor<FloatType>;
  readonly stack: RowStack;
  /** The sums of the rows, of the last call. */
  sums: Float32Array;
}

export class ResidualStack {
  readonly #inputs: readonly Input[];

  constructor(session: RuntimeSession) {
    this.#inputs = session.inputs
      .filter(({ name }) => name.startsWith(RESIDUAL_INPUT))
      .map((input) => {
        const type = expectType('unet', input, FLOAT_TYPES);
        const zeros = floatTensor(type, new Float32Array(1), [1, 1, 1, 1]);
        return { name: input.name, type, zeros, stack: new RowStack(), sums: new Float32Array(0) };
      });
  }

  get count(): number {
    return this.#inputs.length;
  }

  /** The tensors for a batch; `of` gives what its ControlNets add to a row. They are valid until the next call. */
  feeds<Row>(batch: readonly Row[], of: (row: Row) => readonly RowResiduals[]): Record<string, Tensor> {
    const added = batch.map(of);
    return Object.fromEntries(this.#inputs.map((input, i) => [input.name, tensorOf(input, i, added)]));
  }
}

function tensorOf(input: Input, index: number, added: readonly (readonly RowResiduals[])[]): Tensor {
  const all = added.flatMap((own) => own.map(({ residuals }) => residuals[index]));
  if (all.length === 0) return input.zeros;
  const [{ dims, values }] = all;
  const other = all.find((each) => each.dims.join() !== dims.join());
  if (other) {
    const shapes = `[${dims.join(', ')}] and [${other.dims.join(', ')}]`;
    throw new LehrError('engine-failed', `Two ControlNets give residuals of the shapes ${shapes}.`);
  }
  const { length } = values;
  if (input.sums.length !== added.length * length) input.sums = new Float32Array(added.length * length);
  const rows = added.map((own, row) => {
    const sum = input.sums.subarray(row * length, (row + 1) * length);
    sum.fill(0);
    for (const { scale, residuals } of own) addScaled(sum, residuals[index].values, scale);
    return sum;
  });
  return input.type === 'float32'
    ? floatTensor(input.type, input.sums, [rows.length, ...dims])
    : input.stack.stack(input.type, rows, [rows.length, ...dims]);
}

function addScaled(sum: Float32Array, values: Float32Array, scale: number): void {
  for (let i = 0; i < sum.length; i += 1) sum[i] += scale * values[i];
}
