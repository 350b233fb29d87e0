/** U16: a UNet with random weights in the layout of Stable Diffusion's, for latents of 16x16; its other graphs are the demo model's. */
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  attention,
  conv,
  instanceNorm,
  type LayerContext,
  linear,
} from '../../../packages/demo-models/src/diffusion/layers.ts';
import { GraphBuilder } from '../../../packages/demo-models/src/graph-builder.ts';
import { SeededRandom } from '../../../packages/demo-models/src/seeded-random.ts';

/** Channels at 16x16, 8x8 and 4x4: 17 million weights. */
const WIDTHS = [128, 256, 384] as const;
const TIME_WIDTH = 256;
const LATENT_CHANNELS = 4;
/** The prediction is mostly the latent itself, so that 50 steps stay finite. */
const SKIP_GAIN = 0.9;
const NET_GAIN = 0.3;

interface Unet extends LayerContext {
  readonly time: string;
  readonly text: string;
  readonly textWidth: number;
}

/** Makes the folder of the model unless it is there. `demo` is the folder of the demo model. */
export async function ensureU16(folder: string, demo: string): Promise<void> {
  const isThere = await readFile(join(folder, 'unet/model.onnx')).catch(() => undefined);
  if (isThere) return;
  const partial = `${folder}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  for (const part of ['model_index.json', 'scheduler', 'text_encoder', 'tokenizer', 'vae_decoder', 'unet']) {
    await cp(join(demo, part), join(partial, part), { recursive: true });
  }
  const config = JSON.parse(await readFile(join(demo, 'unet/config.json'), 'utf8')) as {
    cross_attention_dim: number;
  };
  await writeFile(join(partial, 'unet/model.onnx'), unetBytes(config.cross_attention_dim));
  await writeFile(
    join(partial, 'unet/config.json'),
    JSON.stringify({ ...config, sample_size: 16, block_out_channels: WIDTHS }),
  );
  await rename(partial, folder);
}

function unetBytes(textWidth: number): Uint8Array {
  const graph = new GraphBuilder('unet', 14, 'float32');
  const random = new SeededRandom(16);
  const latentDims = ['batch_size', LATENT_CHANNELS, 'height', 'width'];
  const sample = graph.input('sample', 'float32', latentDims);
  const timestep = graph.input('timestep', 'float32', []);
  const text = graph.input('encoder_hidden_states', 'float32', ['batch_size', 'sequence_length', textWidth]);
  const time = timeEmbedding({ graph, random }, timestep, sample);
  const unet: Unet = { graph, random, time, text, textWidth };

  const [first, ...lower] = WIDTHS;
  let hidden = conv(unet, 'conv_in', sample, LATENT_CHANNELS, first, 3);
  let width: number = first;
  const kept: { value: string; width: number }[] = [];
  for (const [level, to] of WIDTHS.entries()) {
    if (level > 0) hidden = halve(unet, `down_blocks.${level}.downsample`, hidden, width);
    hidden = block(unet, `down_blocks.${level}`, hidden, width, to);
    width = to;
    if (level < lower.length) kept.push({ value: hidden, width });
  }
  hidden = block(unet, 'mid_block', hidden, width, width);
  for (const [level, skip] of kept.reverse().entries()) {
    const joined = graph.add('Concat', [double(graph, hidden), skip.value], { axis: 1 });
    hidden = block(unet, `up_blocks.${level}`, joined, width + skip.width, skip.width);
    width = skip.width;
  }
  const net = conv(unet, 'conv_out', graph.silu(hidden), width, LATENT_CHANNELS, 3);
  const through = graph.add('Mul', [sample, graph.weight('skip.gain', [1], Float32Array.of(SKIP_GAIN))]);
  const drawn = graph.add('Mul', [net, graph.weight('net.gain', [1], Float32Array.of(NET_GAIN))]);
  graph.output('out_sample', graph.add('Add', [through, drawn]), 'float32', latentDims);
  return graph.build(undefined).bytes;
}

/** A residual block with the timestep, then attention of the pixels to themselves and to the prompt. */
function block(unet: Unet, name: string, input: string, from: number, to: number): string {
  const { graph } = unet;
  let hidden = conv(
    unet,
    `${name}.conv1`,
    graph.silu(instanceNorm(unet, `${name}.norm1`, input, from)),
    from,
    to,
    3,
  );
  const time = linear(unet, `${name}.time`, unet.time, TIME_WIDTH, to);
  hidden = graph.add('Add', [hidden, graph.unsqueeze(time, [2, 3])]);
  hidden = conv(
    unet,
    `${name}.conv2`,
    graph.silu(instanceNorm(unet, `${name}.norm2`, hidden, to)),
    to,
    to,
    3,
  );
  const around = from === to ? input : conv(unet, `${name}.shortcut`, input, from, to, 1);
  hidden = graph.add('Add', [hidden, around]);
  const flat = graph.add('Reshape', [hidden, graph.ints([0, to, -1])]);
  let pixels = graph.add('Transpose', [flat], { perm: [0, 2, 1] });
  pixels = graph.add('Add', [pixels, attention(unet, `${name}.attn1`, pixels, pixels, to, to)]);
  const seen = attention(unet, `${name}.attn2`, pixels, unet.text, to, unet.textWidth);
  pixels = graph.add('Add', [pixels, seen]);
  const fed = graph.silu(linear(unet, `${name}.ff1`, pixels, to, 4 * to));
  pixels = graph.add('Add', [pixels, linear(unet, `${name}.ff2`, fed, 4 * to, to)]);
  const back = graph.add('Transpose', [pixels], { perm: [0, 2, 1] });
  return graph.add('Reshape', [back, graph.add('Shape', [hidden])]);
}

/** A scalar timestep to `[batch, TIME_WIDTH]`, with the nodes of torch's `expand` that Lehr rewires to one timestep a row. */
function timeEmbedding({ graph, random }: LayerContext, timestep: string, sample: string): string {
  const batch = graph.add('Gather', [graph.add('Shape', [sample]), graph.ints(0)], { axis: 0 });
  const size = graph.add('Concat', [graph.unsqueeze(batch, [0])], { axis: 0 });
  const one = { dims: [1], dataType: 7, int64Data: [1] };
  const ones = graph.add('ConstantOfShape', [graph.add('Shape', [size])], { value: { tensor: one } });
  const isUnchanged = graph.add('Equal', [size, graph.add('Mul', [ones, graph.ints(-1)])]);
  const shape = graph.add('Where', [isUnchanged, ones, size]);
  const timesteps = graph.add('Expand', [graph.unsqueeze(timestep, [0]), shape]);
  const half = TIME_WIDTH / 2;
  const frequencies = Float32Array.from({ length: half }, (_, i) => Math.exp((-Math.log(10_000) * i) / half));
  const column = graph.unsqueeze(timesteps, [1]);
  const angles = graph.add('Mul', [column, graph.floats([1, half], frequencies)]);
  const waves = graph.add('Concat', [graph.add('Cos', [angles]), graph.add('Sin', [angles])], { axis: 1 });
  const context = { graph, random };
  const inner = graph.silu(linear(context, 'time_embedding.linear_1', waves, TIME_WIDTH, TIME_WIDTH));
  return graph.silu(linear(context, 'time_embedding.linear_2', inner, TIME_WIDTH, TIME_WIDTH));
}

function halve({ graph, random }: LayerContext, name: string, input: string, width: number): string {
  const weight = graph.weight(
    `${name}.weight`,
    [width, width, 3, 3],
    random.normals(width * width * 9, Math.sqrt(1 / (width * 9))),
  );
  return graph.add('Conv', [input, weight], { kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1] });
}

function double(graph: GraphBuilder, input: string): string {
  const region = graph.floats([0], new Float32Array(0));
  const scales = graph.floats([4], Float32Array.of(1, 1, 2, 2));
  return graph.add('Resize', [input, region, scales], {
    mode: 'nearest',
    nearest_mode: 'floor',
    coordinate_transformation_mode: 'asymmetric',
  });
}
