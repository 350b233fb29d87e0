/**
 * A latent as a file: what a run that stops early hands to another one. The format is safetensors, with one tensor `latent` of
 * `[1, channels, height, width]` in float32, so that diffusers reads it too.
 */
import { memorySource, readSafetensors, SafetensorsError, safetensorsHeader } from '@lehr/onnx-model';
import { LehrError } from '@lehr/shared';

export interface NoisyLatent {
  /** `[channels, height, width]`, row-major. */
  readonly values: Float32Array;
  readonly shape: readonly [channels: number, height: number, width: number];
  /** As of SamplerRun. */
  readonly hasSigmaUnits: boolean;
}

/**
 * The largest value of float16, and more than any latent has. A model would make no numbers of larger ones, and the file may be a caller's: its
 * errors are not those of the model or the device.
 */
const MAX_VALUE = 65_504;
/** The file may be a caller's, and its header is read on the thread that makes steps. */
const MAX_HEADER_BYTES = 4096;
const UNITS = ['sigma', 'variance'];

export function encodeLatent({ values, shape, hasSigmaUnits }: NoisyLatent): Uint8Array {
  const tensor = { name: 'latent', dtype: 'F32', shape: [1, ...shape] } as const;
  const header = safetensorsHeader([tensor], { units: hasSigmaUnits ? 'sigma' : 'variance' });
  return Buffer.concat([header, new Uint8Array(values.buffer, values.byteOffset, values.byteLength)]);
}

/** Throws LehrError `invalid-input` for anything else than such a file with a latent of this shape. */
export function decodeLatent(file: Uint8Array, wanted: NoisyLatent['shape']): NoisyLatent {
  const { latent, units } = latentOf(file);
  const [batch, ...shape] = latent?.shape ?? [];
  if (latent?.dtype !== 'F32' || batch !== 1 || !UNITS.includes(units))
    throw refused('is no latent of Lehr: one tensor "latent" of float32 values, and its units');
  if (shape.join() !== wanted.join()) {
    throw refused(`holds a latent of [${shape.join(', ')}], and this picture has [${wanted.join(', ')}]`);
  }
  // A copy, because the values may begin at an address that a Float32Array cannot view.
  const values = new Float32Array(new Uint8Array(file.subarray(latent.offset)).buffer);
  if (!values.every(Number.isFinite)) throw refused('holds a damaged latent');
  if (values.some((value) => Math.abs(value) > MAX_VALUE)) throw refused(`holds values above ${MAX_VALUE}`);
  return { values, shape: wanted, hasSigmaUnits: units === 'sigma' };
}

function latentOf(file: Uint8Array) {
  try {
    const { tensors, metadata } = readSafetensors(memorySource(file), MAX_HEADER_BYTES);
    const latent = tensors.size === 1 ? tensors.get('latent') : undefined;
    return { latent, units: metadata.units };
  } catch (cause) {
    if (!(cause instanceof SafetensorsError)) throw cause;
    throw refused(`is no latent of Lehr: it ${cause.message}`);
  }
}

const refused = (detail: string): LehrError =>
  new LehrError('invalid-input', `/input/image ${detail}.`, {
    problems: [{ pointer: '/input/image', detail }],
  });
