/** Files of LoRAs in the layouts that people have, with random values, and graphs whose weights have what they add. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { AdapterPart } from '../../apps/worker/src/engine/models/adapters/adapter-names.ts';
import {
  type AdaptableModule,
  adaptableModules,
} from '../../apps/worker/src/engine/models/adapters/plan-adapters.ts';
import { weightOf } from '../../apps/worker/src/engine/models/converted/weights.ts';
import { readGraph } from '../../apps/worker/src/engine/runtime/external-data.ts';
import {
  DATA_TYPE,
  decode,
  encode,
  safetensorsHeader,
  type TensorProto,
  toFloat16,
  toFloat32,
} from '../../packages/onnx-model/src/index.ts';
import { Random } from './random.ts';

export type LoraLayout = 'kohya' | 'kohya-xl' | 'diffusers' | 'diffusers-old' | 'peft';

/** What is added to one layer: alpha / rank * up * down. */
export interface LoraLayer {
  readonly part: AdapterPart;
  /** As diffusers names it. */
  readonly path: string;
  readonly module: AdaptableModule;
  readonly rank: number;
  readonly alpha: number;
  /** [rank, inputs, ...kernel] */
  readonly down: Float32Array;
  /** [outputs, rank] */
  readonly up: Float32Array;
}

interface LoraOptions {
  readonly rank?: number;
  readonly alpha?: number;
  readonly seed?: number;
  /** Which layers, by their path. */
  readonly only?: RegExp;
  /** Standard deviation, about, of what it adds. */
  readonly size?: number;
}

/** Random changes of the layers of a graph. */
export function randomLora(
  graph: string,
  part: AdapterPart,
  { rank = 4, alpha = rank, seed = 1, only = /./, size = 0.3 }: LoraOptions = {},
): LoraLayer[] {
  const random = new Random(seed);
  const values = (length: number, scale: number) =>
    Float32Array.from({ length }, () => (random.next() * 2 - 1) * scale);
  const modules = [...adaptableModules(readGraph({ path: graph }), part).values()];
  return modules
    .map((module) => ({ module, path: module.path.replace(/^(?:unet|encoder)\.(?!layers)/, '') }))
    .filter(({ path }) => only.test(path))
    .map(({ module, path }) => {
      const area = module.kernel.reduce((product, each) => product * each, 1);
      const down = values(rank * module.inputs * area, Math.sqrt(size / (module.inputs * area)));
      const up = values(module.outputs * rank, Math.sqrt(size / rank));
      return { part, path, module, rank, alpha, down, up };
    });
}

/** Writes them to a file. */
export function writeLora(
  path: string,
  layers: readonly LoraLayer[],
  layout: LoraLayout = 'kohya',
  dtype: 'F32' | 'F16' | 'BF16' = 'F32',
): void {
  const tensors = layers.flatMap(({ part, path: own, module, rank, alpha, down, up }) => {
    const isConv = module.kind === 'Conv';
    const [downName, upName, alphaName] = namesIn(layout, part, own);
    return [
      { name: downName, dtype, shape: [rank, module.inputs, ...(isConv ? module.kernel : [])], values: down },
      { name: upName, dtype, shape: [module.outputs, rank, ...(isConv ? [1, 1] : [])], values: up },
      ...(alphaName === undefined
        ? []
        : [{ name: alphaName, dtype: 'F32' as const, shape: [], values: Float32Array.of(alpha) }]),
    ];
  });
  const metadata = layout === 'diffusers' ? diffusersMetadata(layers) : {};
  const bytes = tensors.map(({ values, dtype: own }) => bytesAs(values, own));
  writeFileSync(path, Buffer.concat([safetensorsHeader(tensors, metadata), ...bytes]));
}

/** As diffusers 0.35 and later write it. */
const diffusersMetadata = (layers: readonly LoraLayer[]) => ({
  lora_adapter_metadata: JSON.stringify(
    Object.fromEntries(layers.map(({ part, alpha }) => [`${part}.lora_alpha`, alpha])),
  ),
});

function bytesAs(values: Float32Array, dtype: 'F32' | 'F16' | 'BF16'): Uint8Array {
  if (dtype === 'F32') return new Uint8Array(values.buffer);
  if (dtype === 'F16') return new Uint8Array(toFloat16(values).buffer);
  const bits = new Uint32Array(values.buffer);
  return new Uint8Array(Uint16Array.from(bits, (each) => each >>> 16).buffer);
}

/** Of the two matrices and of alpha, where the layout has one. */
function namesIn(layout: LoraLayout, part: AdapterPart, path: string): readonly [string, string, string?] {
  switch (layout) {
    case 'kohya':
    case 'kohya-xl': {
      const isXl = layout === 'kohya-xl';
      const first = isXl ? 'lora_te1' : 'lora_te';
      const prefix = { unet: 'lora_unet', text_encoder: first, text_encoder_2: 'lora_te2' }[part];
      const own = isXl && part === 'unet' ? originalName(path) : path;
      const name = `${prefix}_${own.replaceAll('.', '_')}`;
      return [`${name}.lora_down.weight`, `${name}.lora_up.weight`, `${name}.alpha`];
    }
    case 'diffusers':
      return [`${part}.${path}.lora_A.weight`, `${part}.${path}.lora_B.weight`];
    case 'diffusers-old': {
      const attention = /^(.*\.attn[12])\.(to_[qkv]|to_out)(?:\.0)?$/.exec(path);
      const name = attention ? `${attention[1]}.processor.${attention[2]}_lora` : `${path}.lora`;
      return [`${part}.${name}.down.weight`, `${part}.${name}.up.weight`, `${part}.${path}.alpha`];
    }
    case 'peft': {
      const name = `base_model.model.${path}`;
      return [`${name}.lora_A.default.weight`, `${name}.lora_B.default.weight`];
    }
  }
}

const RESNET: Readonly<Record<string, string>> = {
  conv1: 'in_layers.2',
  time_emb_proj: 'emb_layers.1',
  conv2: 'out_layers.3',
  conv_shortcut: 'skip_connection',
};
const OUTER: Readonly<Record<string, string>> = {
  'time_embedding.linear_1': 'time_embed.0',
  'time_embedding.linear_2': 'time_embed.2',
  'add_embedding.linear_1': 'label_emb.0.0',
  'add_embedding.linear_2': 'label_emb.0.2',
  conv_in: 'input_blocks.0.0',
  conv_out: 'out.2',
};

/** As the first program for SDXL names a layer of a UNet with two layers per block. */
function originalName(path: string): string {
  const inside = (name: string) => RESNET[name] ?? name;
  const middle = /^mid_block\.(resnets|attentions)\.(\d)\.(.+)$/.exec(path);
  if (middle) {
    const place = middle[1] === 'attentions' ? 1 : Number(middle[2]) * 2;
    return `middle_block.${place}.${inside(middle[3])}`;
  }
  const block = /^(down|up)_blocks\.(\d)\.(\w+)\.(\d)\.(.+)$/.exec(path);
  if (!block) return OUTER[path] ?? path;
  const [, side, at, kind, layer, rest] = block;
  const index = Number(at) * 3 + Number(layer);
  if (kind === 'downsamplers') return `input_blocks.${Number(at) * 3 + 3}.0.op`;
  // The last block of SDXL has no attention, and no upsampler either.
  if (kind === 'upsamplers') return `output_blocks.${Number(at) * 3 + 2}.2.conv`;
  const place = kind === 'resnets' ? 0 : 1;
  return `${side === 'down' ? `input_blocks.${index + 1}` : `output_blocks.${index}`}.${place}.${inside(rest)}`;
}

/** Writes the graph with the changes in its weights: W + scale * alpha / rank * up * down. */
export function writeMerged(
  graph: string,
  to: string,
  loras: readonly { readonly layers: readonly LoraLayer[]; readonly scale: number }[],
): void {
  const model = decode('ModelProto', new Uint8Array(readFileSync(graph)));
  const weights = new Map((model.graph?.initializer ?? []).map((each) => [each.name, each]));
  for (const { layers, scale } of loras)
    for (const layer of layers) {
      const node = model.graph?.node?.find(({ name }) => name === layer.module.nodes[0].name);
      const tensor = weights.get(node?.input?.[1]);
      if (tensor) merge(tensor, layer, (scale * layer.alpha) / layer.rank, graph);
    }
  writeFileSync(to, encode('ModelProto', model));
}

function merge(tensor: TensorProto, { module, rank, down, up }: LoraLayer, factor: number, graph: string) {
  const loaded = weightOf(tensor, graph).load();
  const bytes = new Uint8Array(loaded.rawData ?? []).buffer;
  const isHalf = tensor.dataType === DATA_TYPE.float16;
  const values = isHalf ? toFloat32(new Uint16Array(bytes)) : new Float32Array(bytes);
  const { outputs } = module;
  const width = values.length / outputs;
  const isTransposed = Number(tensor.dims?.[0]) !== outputs || module.kind === 'MatMul';
  for (let o = 0; o < outputs; o += 1)
    for (let i = 0; i < width; i += 1) {
      let sum = 0;
      for (let r = 0; r < rank; r += 1) sum += up[o * rank + r] * down[r * width + i];
      values[isTransposed ? i * outputs + o : o * width + i] += factor * sum;
    }
  tensor.rawData = new Uint8Array(isHalf ? toFloat16(values).buffer : values.buffer);
  tensor.dataLocation = 0;
  tensor.externalData = [];
}
