/** Evaluates a graph node by node: what only CUDA has in JavaScript, everything else with ONNX Runtime on the CPU. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import type { ElementType, Tensor } from '../../apps/worker/src/engine/runtime/tensor.ts';
import {
  DATA_TYPE,
  decode,
  encode,
  type ModelProto,
  type NodeProto,
  type TensorProto,
  toNumber,
} from '../../packages/onnx-model/src/index.ts';
import { runOnReference } from './cuda-reference.ts';

/** Of all values of the graph. `path` is where the graph's weights are beside. */
export async function evaluateGraph(
  bytes: Uint8Array,
  path: string,
  feeds: Readonly<Record<string, Tensor>>,
): Promise<ReadonlyMap<string, Tensor>> {
  const model = decode('ModelProto', bytes);
  const values = new Map<string, Tensor>(Object.entries(feeds));
  for (const weight of model.graph?.initializer ?? [])
    values.set(weight.name ?? '', tensorOf(weight, dirname(path)));
  for (const node of model.graph?.node ?? []) {
    const inputs = (node.input ?? []).flatMap((name) => values.get(name) ?? []);
    const results = runOnReference(node, inputs) ?? (await runAlone(model, node, values));
    for (const [i, result] of results.entries()) values.set(node.output?.[i] ?? '', result);
  }
  return values;
}

const ARRAYS = {
  float32: Float32Array,
  float16: Uint16Array,
  int64: BigInt64Array,
  int32: Int32Array,
  bool: Uint8Array,
} as const;

function tensorOf(weight: TensorProto, folder: string): Tensor {
  const dims = (weight.dims ?? []).map(toNumber);
  const type = (Object.keys(ARRAYS) as ElementType[]).find((each) => DATA_TYPE[each] === weight.dataType);
  if (!type) throw new Error(`${weight.name} has type ${weight.dataType}`);
  if (weight.floatData?.length) return { type: 'float32', data: Float32Array.from(weight.floatData), dims };
  if (weight.int64Data?.length) {
    const data = BigInt64Array.from(weight.int64Data, (each) => BigInt(toNumber(each)));
    return { type: 'int64', data, dims };
  }
  const raw = Uint8Array.from(weight.rawData?.length ? weight.rawData : externalBytes(weight, folder));
  return { type, data: new ARRAYS[type](raw.buffer), dims } as Tensor;
}

function externalBytes({ externalData }: TensorProto, folder: string): Uint8Array {
  const of = (key: string) => externalData?.find((each) => each.key === key)?.value ?? '';
  const offset = Number(of('offset'));
  return readFileSync(join(folder, of('location'))).subarray(offset, offset + Number(of('length')));
}

/** One node as a model. */
async function runAlone(
  { irVersion, opsetImport }: ModelProto,
  node: NodeProto,
  values: ReadonlyMap<string, Tensor>,
): Promise<Tensor[]> {
  const names = [...new Set(node.input ?? [])].filter((name) => name !== '');
  const feeds = Object.fromEntries(
    names.map((name) => {
      const value = values.get(name);
      if (!value) throw new Error(`${node.name} reads ${name}, which nothing has made`);
      return [name, value];
    }),
  );
  const outputs = (node.output ?? []).filter((name) => name !== '');
  const graph = {
    name: 'node',
    node: [node],
    input: Object.entries(feeds).map(([name, { type, dims }]) => ({
      name,
      type: {
        tensorType: {
          elemType: DATA_TYPE[type],
          shape: { dim: dims.map((dimValue) => ({ dimValue })) },
        },
      },
    })),
    output: outputs.map((name) => ({ name })),
  };
  const bytes = encode('ModelProto', { irVersion, opsetImport, graph });
  const options = { providers: ['cpu'], threads: 1, optimization: 'disabled' } as const;
  const session = await onnxRuntime.load({ path: `/${node.name}`, bytes }, options);
  try {
    const results = await session.run(feeds);
    return (node.output ?? []).map((name) => results[name]);
  } finally {
    await session.close();
  }
}
