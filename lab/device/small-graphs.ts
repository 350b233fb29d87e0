/** Graphs of one or two nodes, which show one property of a device each. */
import { writeFile } from 'node:fs/promises';
import { DATA_TYPE, encode, type NodeProto } from '../../packages/onnx-model/src/index.ts';

type Type = keyof typeof DATA_TYPE;
export type Value = readonly [name: string, type: Type, dims: readonly (number | string)[]];

export interface SmallGraph {
  readonly nodes: readonly NodeProto[];
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
}

export async function writeGraph(path: string, { nodes, inputs, outputs }: SmallGraph): Promise<void> {
  const graph = {
    name: 'small',
    node: [...nodes],
    input: inputs.map(valueInfo),
    output: outputs.map(valueInfo),
  };
  const opsetImport = [{ domain: '', version: 17 }];
  await writeFile(path, encode('ModelProto', { irVersion: 8, opsetImport, graph }));
}

const valueInfo = ([name, type, dims]: Value) => ({
  name,
  type: {
    tensorType: {
      elemType: DATA_TYPE[type],
      shape: {
        dim: dims.map((dim) => (typeof dim === 'number' ? { dimValue: dim } : { dimParam: dim })),
      },
    },
  },
});
