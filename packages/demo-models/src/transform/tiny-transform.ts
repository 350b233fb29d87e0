/**
 * Writes a model of a few kilobytes that transforms pictures, with random weights, in the folder layout of Optimum's ONNX exports, for tests.
 * Its results depend on few pixels around each, so that tiles can be compared with whole pictures.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { conv } from '../diffusion/layers.ts';
import { type FloatType, GraphBuilder } from '../graph-builder.ts';
import { SeededRandom } from '../seeded-random.ts';

export interface TinyTransformOptions {
  readonly result: 'picture' | 'mask' | 'class';
  /** Of a picture; default 2. */
  readonly scale?: number;
  /** Of a class; default: cat, dog, teapot. */
  readonly labels?: readonly string[];
  /** Seed of the weights; default 0. */
  readonly seed?: number;
  readonly dtype?: FloatType;
  readonly channelsLast?: boolean;
  /** Rows, height and width that the graph takes; free when absent. */
  readonly rows?: number;
  readonly size?: { readonly height: number; readonly width: number };
  /** Name of the output; default: that of transformers for the result. */
  readonly output?: string;
  /** preprocessor_config.json; none when absent. */
  readonly processor?: object;
  /** Below `onnx/`, as in many repositories, not at the root. */
  readonly below?: boolean;
}

const CHANNELS = 3;
const OPSET = 14;
const OUTPUTS = { picture: 'reconstruction', mask: 'alphas', class: 'logits' };
const LABELS = ['cat', 'dog', 'teapot'];

/** Creates `folder`, with its parents, and fills it. The same options give the same bytes. */
export async function writeTinyTransform(folder: string, options: TinyTransformOptions): Promise<void> {
  const { labels = LABELS, result, processor, below = false } = options;
  const graphs = below ? join(folder, 'onnx') : folder;
  await mkdir(graphs, { recursive: true });
  await writeFile(join(graphs, 'model.onnx'), buildGraph({ ...options, labels }));
  const id2label = Object.fromEntries(labels.map((label, i) => [i, label]));
  await writeJson(folder, 'config.json', {
    model_type: 'tiny_transform',
    ...(result === 'class' && { id2label }),
  });
  if (processor) await writeJson(folder, 'preprocessor_config.json', processor);
}

const writeJson = (folder: string, name: string, value: object): Promise<void> =>
  writeFile(join(folder, name), `${JSON.stringify(value, null, 2)}\n`);

type Plan = TinyTransformOptions & { readonly labels: readonly string[] };

/** One convolution of 3x3 and one of 1x1: a result depends on the nine pixels around its own. */
function buildGraph(plan: Plan): Uint8Array {
  const { result, dtype = 'float32', seed = 0, channelsLast = false, output = OUTPUTS[plan.result] } = plan;
  const graph = new GraphBuilder('transform', OPSET, dtype);
  const context = { graph, random: new SeededRandom(seed) };
  const { height, width } = { height: 'height', width: 'width', ...plan.size };
  const dims = channelsLast ? [height, width, CHANNELS] : [CHANNELS, height, width];
  const rows = plan.rows ?? 'batch_size';
  const input = graph.input('pixel_values', dtype, [rows, ...dims]);
  const first = channelsLast ? graph.add('Transpose', [input], { perm: [0, 3, 1, 2] }) : input;
  const hidden = graph.add('Relu', [conv(context, 'first', first, CHANNELS, 8, 3)]);
  const made = head(plan, context, hidden);
  const isPlane = result !== 'class' && channelsLast;
  const shaped = isPlane ? graph.add('Transpose', [made], { perm: [0, 2, 3, 1] }) : made;
  const free = result === 'class' ? [plan.labels.length] : ['out_1', 'out_2', 'out_3'];
  graph.output(output, shaped, dtype, [rows, ...free]);
  return graph.build(undefined).bytes;
}

function head(
  { result, scale = 2, labels }: Plan,
  context: Parameters<typeof conv>[0],
  hidden: string,
): string {
  const { graph } = context;
  switch (result) {
    case 'picture': {
      const values = conv(context, 'last', hidden, 8, CHANNELS * scale ** 2, 1);
      const shuffled =
        scale === 1 ? values : graph.add('DepthToSpace', [values], { blocksize: scale, mode: 'CRD' });
      return graph.add('Sigmoid', [shuffled]);
    }
    case 'mask':
      return graph.add('Sigmoid', [conv(context, 'last', hidden, 8, 1, 1)]);
    case 'class': {
      const scores = conv(context, 'last', hidden, 8, labels.length, 1);
      return graph.add('Flatten', [graph.add('GlobalAveragePool', [scores])], { axis: 1 });
    }
  }
}
