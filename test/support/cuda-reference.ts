/** The operators of ONNX Runtime that only CUDA has, as its documentation describes them, for float32; channels are last. Slow. */
import type { Tensor } from '../../apps/worker/src/engine/runtime/tensor.ts';
import { type NodeProto, toNumber } from '../../packages/onnx-model/src/index.ts';

type Floats = Tensor<'float32'>;
type Operator = (inputs: readonly Floats[], attributes: Attributes) => Floats[];

interface Attributes {
  int(name: string): number;
  ints(name: string): number[];
  float(name: string): number;
}

const attributesOf = ({ attribute }: NodeProto): Attributes => {
  const of = (name: string) => attribute?.find((each) => each.name === name);
  return {
    int: (name) => toNumber(of(name)?.i),
    ints: (name) => of(name)?.ints?.map(toNumber) ?? [],
    float: (name) => of(name)?.f ?? 0,
  };
};

/** Undefined for other operators. */
export function runOnReference(node: NodeProto, inputs: readonly Tensor[]): Tensor[] | undefined {
  const operator = node.domain === 'com.microsoft' ? OPERATORS[node.opType ?? ''] : undefined;
  return operator?.(inputs as Floats[], attributesOf(node));
}

const floats = (data: Float32Array, dims: readonly number[]): Floats => ({ type: 'float32', data, dims });

const OPERATORS: Record<string, Operator> = {
  GroupNorm: ([x, scale, shift], attributes) => [groupNorm(x, scale, shift, attributes)],
  SkipGroupNorm([x, scale, shift, skip], attributes) {
    const [, height, width, channels] = x.dims;
    // Of the same size, or [batch, channels].
    const isBroadcast = skip.data.length !== x.data.length;
    const sum = x.data.map((value, i) => {
      const row = Math.floor(i / (height * width * channels));
      return value + skip.data[isBroadcast ? row * channels + (i % channels) : i];
    });
    const added = floats(sum, x.dims);
    return [groupNorm(added, scale, shift, attributes), added];
  },
  NhwcConv: ([x, weight, bias], attributes) => [conv(x, weight, bias, attributes)],
  BiasSplitGelu([x, bias]) {
    const width = x.dims[2];
    const data = new Float32Array(x.data.length / 2);
    for (let i = 0; i < data.length; i += 1) {
      const [row, channel] = [Math.floor(i / (width / 2)), i % (width / 2)];
      const at = (channelOf: number) => x.data[row * width + channelOf] + bias.data[channelOf];
      data[i] = at(channel) * gelu(at(channel + width / 2));
    }
    return [floats(data, [x.dims[0], x.dims[1], width / 2])];
  },
  BiasAdd: ([x, bias, skip]) => [
    floats(
      x.data.map((value, i) => value + bias.data[i % bias.data.length] + skip.data[i]),
      x.dims,
    ),
  ],
};

/** arXiv 1803.08494, equation 1, for each row and group; `activation` 1 is SiLU. */
function groupNorm(x: Floats, scale: Floats, shift: Floats, attributes: Attributes): Floats {
  const [rows, height, width, channels] = x.dims;
  const [groups, pixels] = [attributes.int('groups'), height * width];
  const size = channels / groups;
  const data = new Float32Array(x.data.length);
  for (let part = 0; part < rows * groups; part += 1) {
    const [row, group] = [Math.floor(part / groups), part % groups];
    const indices = Array.from({ length: pixels * size }, (_, i) => {
      const [pixel, channel] = [Math.floor(i / size), group * size + (i % size)];
      return (row * pixels + pixel) * channels + channel;
    });
    const mean = indices.reduce((sum, i) => sum + x.data[i], 0) / indices.length;
    const variance = indices.reduce((sum, i) => sum + (x.data[i] - mean) ** 2, 0) / indices.length;
    for (const i of indices) {
      const normal = (x.data[i] - mean) / Math.sqrt(variance + attributes.float('epsilon'));
      const value = normal * scale.data[i % channels] + shift.data[i % channels];
      data[i] = attributes.int('activation') === 1 ? value / (1 + Math.exp(-value)) : value;
    }
  }
  return floats(data, x.dims);
}

/** The weight is [out, height, width, in]. */
function conv(x: Floats, weight: Floats, bias: Floats | undefined, attributes: Attributes): Floats {
  const [rows, height, width, from] = x.dims;
  const [to, high, wide] = weight.dims;
  const [top, left, bottom, right] = attributes.ints('pads');
  const [down, across] = attributes.ints('strides');
  const outHeight = Math.floor((height + top + bottom - high) / down) + 1;
  const outWidth = Math.floor((width + left + right - wide) / across) + 1;
  const dims = [rows, outHeight, outWidth, to];
  const data = new Float32Array(rows * outHeight * outWidth * to);
  for (let i = 0; i < data.length; i += 1) {
    const [out, pixel] = [i % to, Math.floor(i / to)];
    const row = Math.floor(pixel / (outWidth * outHeight));
    const y = (Math.floor(pixel / outWidth) % outHeight) * down - top;
    const z = (pixel % outWidth) * across - left;
    let sum = bias?.data[out] ?? 0;
    for (let tap = 0; tap < high * wide; tap += 1) {
      const [atY, atZ] = [y + Math.floor(tap / wide), z + (tap % wide)];
      if (atY < 0 || atY >= height || atZ < 0 || atZ >= width) continue;
      const [image, kernel] = [((row * height + atY) * width + atZ) * from, (out * high * wide + tap) * from];
      for (let c = 0; c < from; c += 1) sum += x.data[image + c] * weight.data[kernel + c];
    }
    data[i] = sum;
  }
  return floats(data, dims);
}

const gelu = (x: number): number => (x / 2) * (1 + erf(x / Math.SQRT2));

/** DLMF 7.6.2, whose terms all have the sign of x. */
function erf(x: number): number {
  if (Math.abs(x) > 6) return Math.sign(x);
  let sum = 0;
  for (let n = 0, term = x; Math.abs(term) > 1e-17; n += 1) {
    sum += term;
    term *= (2 * x * x) / (2 * n + 3);
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}
