/** A planted change of a graph. */
import { readFile, writeFile } from 'node:fs/promises';
import { DATA_TYPE, decode, encode } from '../../packages/onnx-model/src/index.ts';

/** Multiplies the only output of the float32 graph in this file, or raises it to a power. */
export async function changeOutput(path: string, opType: 'Mul' | 'Pow', by: number): Promise<void> {
  const model = decode('ModelProto', await readFile(path));
  const { graph } = model;
  const [output] = graph?.output ?? [];
  if (!graph || !output?.name) throw new Error(`${path} has no output.`);
  const { name } = output;
  for (const each of graph.node ?? [])
    each.output = each.output?.map((value) => (value === name ? 'exact' : value));
  const number = { name: 'planted', dims: [], dataType: DATA_TYPE.float32, floatData: [by] };
  graph.node?.push({ opType, name: 'planted', input: ['exact', 'planted'], output: [name] });
  graph.initializer?.push(number);
  await writeFile(path, encode('ModelProto', model));
}
