/** Adds adapters to the weights of a model: W + scale * alpha / rank * up * down, computed in float32, in the type that the graph has. */
import { DATA_TYPE, type TensorProto, toFloat16, toFloat32 } from '@lehr/onnx-model';
import { ADAPTED_PARTS } from '../adapters/check-adapter.ts';
import {
  type NamedAdapter,
  type PlannedModule,
  type PlannedShare,
  planAdapters,
} from '../adapters/plan-adapters.ts';
import { floatsOf, storedWeight } from '../converted/weights.ts';
import { weightPlaces } from '../weights/weight-places.ts';
import { floatsIn } from '../weights/weight-values.ts';
import { refusedFile } from '../weights/weights-file.ts';
import type { FilledPlace } from './match-weights.ts';
import type { ImportPlan } from './plan-import.ts';
import type { ValuesOf } from './write-graph.ts';

export interface AdapterToMerge extends NamedAdapter {
  readonly scale: number;
}

export interface MergePlan extends Pick<ImportPlan, 'graphs' | 'bytes'> {
  readonly valuesOf: ValuesOf;
  /** How many layers each adapter changes, by its name. */
  readonly layers: ReadonlyMap<string, number>;
}

/** `graphs` are those of the model, with nothing to write. Throws LehrError `invalid-request` for an adapter that does not fit. */
export function planMerge(
  graphs: ImportPlan['graphs'],
  adapters: readonly AdapterToMerge[],
  model: string,
): MergePlan {
  const modules = new Map<FilledPlace, PlannedModule>();
  const layers = new Map(adapters.map(({ name }) => [name, 0]));
  const planned = graphs.map((each) => {
    const part = ADAPTED_PARTS.find((name) => each.graph === `${name}/model.onnx`);
    if (!part) return each;
    const plan = planAdapters(each.stored, part, adapters);
    for (const [name, problem] of plan.problems)
      throw refusedFile(adapters.find((adapter) => adapter.name === name)?.path ?? name, problem);
    const places = weightPlaces(each.stored);
    const filled = plan.modules.flatMap((module) => {
      for (const { adapter } of module.shares) layers.set(adapter.name, (layers.get(adapter.name) ?? 0) + 1);
      const own = places.filter(({ node, input }) => input === 1 && module.module.nodes.includes(node));
      return own.map((place): FilledPlace => {
        const tensor = { name: '', dtype: 'F32' as const, shape: place.dims, offset: 0, length: 0 };
        const weight = { part, name: `${module.module.path}.merged`, tensor };
        const found = { place, weight, isTransposed: false };
        modules.set(found, module);
        return found;
      });
    });
    return { ...each, filled };
  });
  for (const { name, path } of adapters)
    if (layers.get(name) === 0) throw refusedFile(path, `has no layer that ${model} has`);
  const valuesOf: ValuesOf = (filled, { source, base }) => {
    const module = modules.get(filled);
    const tensor = storedWeight(filled.place.stored, source, base).load();
    return module ? merged(tensor, module, adapters) : new Uint8Array(tensor.rawData ?? []);
  };
  return { graphs: planned, bytes: bytesOf([...modules.keys()]), valuesOf, layers };
}

const bytesOf = (filled: readonly FilledPlace[]): number =>
  filled.reduce((sum, { place: { dims, stored } }) => {
    const size = stored.tensor.dataType === DATA_TYPE.float16 ? 2 : 4;
    return sum + dims.reduce((product, each) => product * each, size);
  }, 0);

/** One row of a layer's outputs at a time. */
function merged(
  tensor: TensorProto,
  { module: { kind, outputs, inputs, kernel, isTransposed }, shares }: PlannedModule,
  adapters: readonly AdapterToMerge[],
): Uint8Array {
  const isHalf = tensor.dataType === DATA_TYPE.float16;
  const values = isHalf ? halvesOf(tensor) : floatsOf(tensor);
  const width = kind === 'Conv' ? kernel.reduce((product, size) => product * size, inputs) : inputs;
  for (const share of shares) {
    const scale = adapters.find(({ name }) => name === share.adapter.name)?.scale ?? 0;
    addProduct(values, { share, scale, outputs, width, isTransposed });
  }
  const largest = isHalf ? MAX_HALF : Number.MAX_VALUE;
  if (!values.every((value) => Math.abs(value) <= largest)) {
    const [{ adapter, lowRank }] = shares;
    const what = `too large for the float${isHalf ? 16 : 32} of the model`;
    throw refusedFile(adapter.path, `makes values at ${lowRank.down.name} that are ${what}`);
  }
  return new Uint8Array(isHalf ? toFloat16(values).buffer : values.buffer);
}

const MAX_HALF = 65_504;

interface Product {
  readonly share: PlannedShare;
  readonly scale: number;
  readonly outputs: number;
  readonly width: number;
  /** The graph has the outputs of the layer in columns. */
  readonly isTransposed: boolean;
}

function addProduct(values: Float32Array, { share, scale, outputs, width, isTransposed }: Product): void {
  const { adapter, lowRank } = share;
  const [down, up] = [lowRank.down, lowRank.up].map((each) => floatsIn(adapter.source, each));
  const row = new Float32Array(width);
  for (let o = 0; o < outputs; o += 1) {
    row.fill(0);
    for (let r = 0; r < lowRank.rank; r += 1) {
      const factor = scale * lowRank.factor * up[o * lowRank.rank + r];
      for (let i = 0; i < width; i += 1) row[i] += factor * down[r * width + i];
    }
    for (let i = 0; i < width; i += 1) values[isTransposed ? i * outputs + o : o * width + i] += row[i];
  }
}

/** Of a float16 tensor; where its values are not raw, they are in integers. */
const halvesOf = ({ rawData, int32Data }: TensorProto): Float32Array =>
  toFloat32(
    rawData?.byteLength ? new Uint16Array(new Uint8Array(rawData).buffer) : Uint16Array.from(int32Data ?? []),
  );
