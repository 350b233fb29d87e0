import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DATA_TYPE, EXTERNAL, encode } from '@lehr/onnx-model';
import { expect, test } from 'vitest';
import { tempFolder } from '../../../../../../test/support/tiny-models.ts';
import { writeHalfGraph } from './half-graph.ts';

test('Weights that do not fit into one file in half precision are refused before they are read, but not beside the graph', async () => {
  const folder = await tempFolder('half');
  const path = join(folder, 'model.onnx');
  const bytes = 2 ** 31;
  const place = { location: 'weights.bin', length: `${bytes}` };
  const tokens = {
    name: 'tokens',
    dims: [bytes],
    dataType: DATA_TYPE.uint8,
    dataLocation: EXTERNAL,
    externalData: Object.entries(place).map(([key, value]) => ({ key, value })),
  };
  const matrix = { name: 'matrix', dims: [1, 1], dataType: DATA_TYPE.float32, floatData: [0.5] };
  const value = (name: string) => ({
    name,
    type: { tensorType: { elemType: DATA_TYPE.float32, shape: { dim: [] } } },
  });
  const graph = {
    name: 'main',
    node: [{ opType: 'MatMul', name: 'product', input: ['x', 'matrix'], output: ['y'] }],
    input: [value('x')],
    output: [value('y')],
    initializer: [matrix, tokens],
  };
  await writeFile(
    path,
    encode('ModelProto', { irVersion: 8, opsetImport: [{ domain: '', version: 17 }], graph }),
  );
  const to = { graph: join(folder, 'half.onnx'), check: join(folder, 'check.onnx') };
  // Two bytes of the matrix.
  expect(() => writeHalfGraph(path, to)).toThrow(
    `${path} needs ${bytes + 2} bytes in fp16; one file holds ${2 ** 31 - 1}.`,
  );
  expect(() => writeHalfGraph(path, { ...to, data: join(folder, 'half.data') })).toThrow('weights.bin');
});
