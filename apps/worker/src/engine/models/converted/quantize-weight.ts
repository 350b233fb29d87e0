import { DATA_TYPE, type TensorProto } from '@lehr/onnx-model';
import { LehrError } from '@lehr/shared';

/**
 * One bit less than int8 holds. On processors with AVX2 or AVX-512 but no VNNI, ONNX Runtime adds two products of uint8 and int8 in 16
 * bits, which overflow with larger weights (`reduce_range` of its quantize_dynamic).
 */
const LARGEST = 64;

/**
 * A weight of shape [inner, columns] as int8, with one scale per column: float = int8 * scale, and zero is zero. Throws LehrError
 * `model-unavailable` when a value is not finite.
 */
export function quantizeWeight(
  name: string,
  values: Float32Array,
  columns: number,
): { readonly weight: TensorProto; readonly scale: TensorProto } {
  const scales = new Float32Array(columns);
  for (let i = 0; i < values.length; i += 1) {
    const size = Math.abs(values[i]);
    if (!Number.isFinite(size)) {
      throw new LehrError(
        'model-unavailable',
        `${name} has the value ${values[i]} at ${i}; int8 needs finite weights.`,
      );
    }
    if (size > scales[i % columns]) scales[i % columns] = size;
  }
  for (let column = 0; column < columns; column += 1) scales[column] = scales[column] / LARGEST || 1;
  const whole = Int8Array.from(values, (value, i) => Math.round(value / scales[i % columns]));
  const bytesOf = ({ buffer }: Int8Array | Float32Array): Uint8Array => new Uint8Array(buffer as ArrayBuffer);
  return {
    weight: {
      name: `${name}_int8`,
      dataType: DATA_TYPE.int8,
      dims: [values.length / columns, columns],
      rawData: bytesOf(whole),
    },
    scale: {
      name: `${name}_int8_scale`,
      dataType: DATA_TYPE.float32,
      dims: [columns],
      rawData: bytesOf(scales),
    },
  };
}
