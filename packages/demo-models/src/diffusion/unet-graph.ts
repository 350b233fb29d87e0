import { type BuiltGraph, GraphBuilder } from '../graph-builder.ts';
import { SeededRandom } from '../seeded-random.ts';
import { attention, conv, instanceNorm, type LayerContext, linear } from './layers.ts';
import type { TinyDiffusionPlan } from './plan.ts';

const WIDTH = 32;
/** The prediction is mostly the latent itself, as in a trained model at high noise, so that 50 steps stay finite. */
const SKIP_GAIN = 0.9;
const NET_GAIN = 0.3;

/** `sample [batch, channels, h, w]`, scalar `timestep`, `encoder_hidden_states` to `out_sample` of the sample's shape. */
export function buildUnet(plan: TinyDiffusionPlan): BuiltGraph {
  const graph = new GraphBuilder('unet', plan.opset, plan.dtype);
  const context: LayerContext = { graph, random: new SeededRandom(plan.seed + 2) };
  const latentDims = ['batch_size', plan.latentChannels, 'height', 'width'] as const;

  const sample = graph.input('sample', plan.dtype, latentDims);
  const timestep = graph.input('timestep', plan.timestepType, plan.timestepDims);
  const textDims = ['batch_size', 'sequence_length', plan.embeddingDim] as const;
  const text = graph.input('encoder_hidden_states', plan.dtype, textDims);

  const time = timeEmbedding(context, plan, expandToBatch(graph, plan, timestep, sample));
  let hidden = conv(context, 'conv_in', sample, plan.latentChannels, WIDTH, 3);
  // Added after the norm, which would remove a value that is constant over a channel.
  hidden = instanceNorm(context, 'norm1', hidden, WIDTH);
  hidden = graph.silu(graph.add('Add', [hidden, graph.unsqueeze(time, [2, 3])]));
  hidden = attendToText(context, plan, hidden, text);
  hidden = graph.silu(conv(context, 'mid_block.conv', hidden, WIDTH, WIDTH, 3));
  const net = conv(context, 'conv_out', hidden, WIDTH, plan.latentChannels, 3);

  const skip = graph.add('Mul', [sample, graph.weight('skip.gain', [1], Float32Array.of(SKIP_GAIN))]);
  const drawn = graph.add('Mul', [net, graph.weight('net.gain', [1], Float32Array.of(NET_GAIN))]);
  graph.output('out_sample', graph.add('Add', [skip, drawn]), plan.dtype, latentDims);
  return graph.build(plan.externalDataFile);
}

/**
 * The nodes that torch.onnx exports for diffusers' `timesteps[None].expand(sample.shape[0])`: Unsqueeze, then Expand to a
 * shape taken from the sample, with Equal and Where for sizes of -1 (unchanged). A timestep of rank 1 has no Unsqueeze.
 */
function expandToBatch(
  graph: GraphBuilder,
  plan: TinyDiffusionPlan,
  timestep: string,
  sample: string,
): string {
  const given = plan.castTimestepFirst ? graph.cast(timestep, 'float32') : timestep;
  const lifted = plan.timestepDims.length === 0 ? graph.unsqueeze(given, [0]) : given;
  const batch = graph.add('Gather', [graph.add('Shape', [sample]), graph.ints(0)], { axis: 0 });
  const size = graph.add('Concat', [graph.unsqueeze(batch, [0])], { axis: 0 });
  const one = { dims: [1], dataType: 7, int64Data: [1] };
  const ones = graph.add('ConstantOfShape', [graph.add('Shape', [size])], { value: { tensor: one } });
  const isUnchanged = graph.add('Equal', [size, graph.add('Mul', [ones, graph.ints(-1)])]);
  return graph.add('Expand', [lifted, graph.add('Where', [isUnchanged, ones, size])]);
}

/** Sinusoids of the timestep, cosines first, through two linear layers. `[batch]` to `[batch, WIDTH]`. */
function timeEmbedding(context: LayerContext, plan: TinyDiffusionPlan, timesteps: string): string {
  const { graph } = context;
  const half = WIDTH / 2;
  const frequencies = Float32Array.from({ length: half }, (_, i) => Math.exp((-Math.log(10_000) * i) / half));
  const column = graph.cast(graph.unsqueeze(timesteps, [1]), 'float32');
  const angles = graph.add('Mul', [column, graph.floats([1, half], frequencies)]);
  const sinusoids = graph.add('Concat', [graph.add('Cos', [angles]), graph.add('Sin', [angles])], {
    axis: 1,
  });
  const inner = linear(
    context,
    'time_embedding.linear_1',
    graph.cast(sinusoids, plan.dtype),
    WIDTH,
    WIDTH,
    2,
  );
  return linear(context, 'time_embedding.linear_2', graph.silu(inner), WIDTH, WIDTH, 2);
}

/** Cross-attention: every pixel attends to every token of the prompt. */
function attendToText(context: LayerContext, plan: TinyDiffusionPlan, hidden: string, text: string): string {
  const { graph } = context;
  const flat = graph.add('Reshape', [hidden, graph.ints([0, WIDTH, -1])]);
  const pixels = graph.add('Transpose', [flat], { perm: [0, 2, 1] });
  const seen = attention(context, 'attn2', pixels, text, WIDTH, plan.embeddingDim);
  const back = graph.add('Transpose', [graph.add('Add', [pixels, seen])], { perm: [0, 2, 1] });
  return graph.add('Reshape', [back, graph.add('Shape', [hidden])]);
}
