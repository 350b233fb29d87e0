import { type BuiltGraph, GraphBuilder } from '../graph-builder.ts';
import {
  attend,
  feedForward,
  gelu,
  keysOrValues,
  layerNorm,
  queries,
  WeightStore,
  type WhisperContext,
} from './layers.ts';
import type { TinyWhisperPlan } from './plan.ts';

/** `input_features [batch, melBins, frames]` to `last_hidden_state [batch, frames / 2, width]`. */
export function buildEncoder(plan: TinyWhisperPlan): BuiltGraph {
  const graph = new GraphBuilder('encoder', plan.opset, plan.dtype);
  const weights = new WeightStore(graph, plan.seed);
  const context: WhisperContext = { graph, weights, plan };
  const features = graph.input('input_features', plan.dtype, [
    'batch_size',
    plan.melBins,
    'encoder_sequence_length',
  ]);
  const first = gelu(context, convolve(context, 'conv1', features, plan.melBins, 1));
  const second = gelu(context, convolve(context, 'conv2', first, plan.width, 2));
  const rows = graph.add('Transpose', [second], { perm: [0, 2, 1] });
  let hidden = graph.add('Add', [rows, positions(context)]);
  for (let i = 0; i < plan.encoderLayers; i++) hidden = layer(context, `layers.${i}`, hidden);
  graph.output('last_hidden_state', layerNorm(context, 'layer_norm', hidden), plan.dtype, [
    'batch_size',
    'encoder_sequence_length / 2',
    plan.width,
  ]);
  return graph.build(plan.externalData ? 'encoder_model.onnx_data' : undefined);
}

const CONV_GAIN = 3;

/** A convolution over time, three frames wide. */
function convolve(
  { graph, weights, plan }: WhisperContext,
  name: string,
  input: string,
  from: number,
  stride: number,
): string {
  const weight = weights.values(`${name}.weight`, [plan.width, from, 3], () => {
    const kernels = weights.draw(`${name}.weight`, plan.width * from * 3, CONV_GAIN / Math.sqrt(3 * from));
    return centreRows(kernels, from * 3);
  });
  const bias = weights.random(`${name}.bias`, [plan.width], 0.02);
  return graph.add('Conv', [input, weight, bias], { kernel_shape: [3], pads: [1, 1], strides: [stride] });
}

/** Makes the mean of each kernel 0: it then responds to changes of the input, not to its level. */
function centreRows(rows: Float32Array, length: number): Float32Array {
  for (let start = 0; start < rows.length; start += length) {
    const row = rows.subarray(start, start + length);
    const mean = row.reduce((sum, value) => sum + value, 0) / length;
    for (let i = 0; i < length; i++) row[i] -= mean;
  }
  return rows;
}

/** Whisper's sinusoidal positions, one row per audio position. */
function positions({ weights, plan }: WhisperContext): string {
  const half = plan.width / 2;
  return weights.values('embed_positions.weight', [plan.sourcePositions, plan.width], () =>
    Float32Array.from({ length: plan.sourcePositions * plan.width }, (_, i) => {
      const [row, column] = [Math.floor(i / plan.width), i % plan.width];
      const angle = row * Math.exp((-Math.log(10_000) * (column % half)) / (half - 1));
      return column < half ? Math.sin(angle) : Math.cos(angle);
    }),
  );
}

function layer(context: WhisperContext, name: string, input: string): string {
  const { graph } = context;
  const normal = layerNorm(context, `${name}.self_attn_layer_norm`, input);
  const attention = `${name}.self_attn`;
  const q = queries(context, attention, normal);
  const k = keysOrValues(context, attention, 'k', normal);
  const v = keysOrValues(context, attention, 'v', normal);
  const attended = graph.add('Add', [input, attend(context, attention, { q, k, v }).output]);
  const last = layerNorm(context, `${name}.final_layer_norm`, attended);
  return graph.add('Add', [attended, feedForward(context, name, last)]);
}
