/**
 * A latent as a file: what a run that stops early hands to another one. The format is safetensors (8 bytes of length, a JSON header, the
 * values), with one tensor `latent` of `[1, channels, height, width]` in float32, so that diffusers reads it too.
 */
import { LehrError } from '@lehr/shared';
import { z } from 'zod';

export interface NoisyLatent {
  /** `[channels, height, width]`, row-major. */
  readonly values: Float32Array;
  readonly shape: readonly [channels: number, height: number, width: number];
  /** As of SamplerRun. */
  readonly hasSigmaUnits: boolean;
}

const LENGTH_BYTES = 8;
const VALUE_BYTES = 4;
/**
 * The largest value of float16, and more than any latent has. A model would make no numbers of larger ones, and the file may be a caller's: its
 * errors are not those of the model or the device.
 */
const MAX_VALUE = 65_504;
/** The file may be a caller's, and its header is read on the thread that makes steps. */
const MAX_HEADER_BYTES = 4096;

const HeaderSchema = z.object({
  latent: z.object({
    dtype: z.literal('F32'),
    shape: z.tuple([z.literal(1), z.int().min(1), z.int().min(1), z.int().min(1)]),
    data_offsets: z.tuple([z.literal(0), z.int().min(VALUE_BYTES)]),
  }),
  /** Its values are texts in safetensors. */
  __metadata__: z.object({ units: z.enum(['sigma', 'variance']) }),
});
type Header = z.output<typeof HeaderSchema>;

export function encodeLatent({ values, shape, hasSigmaUnits }: NoisyLatent): Uint8Array {
  const header: Header = {
    latent: { dtype: 'F32', shape: [1, ...shape], data_offsets: [0, values.byteLength] },
    __metadata__: { units: hasSigmaUnits ? 'sigma' : 'variance' },
  };
  const json = JSON.stringify(header);
  // The values begin at a multiple of 8, as safetensors writes them.
  const text = Buffer.from(json.padEnd(Math.ceil(json.length / LENGTH_BYTES) * LENGTH_BYTES));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, new Uint8Array(values.buffer, values.byteOffset, values.byteLength)]);
}

/** Throws LehrError `invalid-input` for anything else than such a file with a latent of this shape. */
export function decodeLatent(file: Uint8Array, wanted: NoisyLatent['shape']): NoisyLatent {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const length = bytes.length < LENGTH_BYTES ? 0 : Number(bytes.readBigUInt64LE());
  const valuesAt = LENGTH_BYTES + Math.min(length, MAX_HEADER_BYTES);
  const header = HeaderSchema.safeParse(jsonOf(bytes.subarray(LENGTH_BYTES, valuesAt))).data;
  if (!header) throw refused('is no latent of Lehr: one tensor "latent" of float32 values, and its units');
  const [, ...shape] = header.latent.shape;
  if (shape.join() !== wanted.join()) {
    throw refused(`holds a latent of [${shape.join(', ')}], and this picture has [${wanted.join(', ')}]`);
  }
  const [, end] = header.latent.data_offsets;
  // A copy, because the values may begin at an address that a Float32Array cannot view.
  const data = new Uint8Array(bytes.subarray(valuesAt));
  const isWhole = data.length === end && end === VALUE_BYTES * shape[0] * shape[1] * shape[2];
  const values = isWhole ? new Float32Array(data.buffer) : new Float32Array();
  if (!isWhole || !values.every(Number.isFinite)) throw refused('holds a damaged latent');
  if (values.some((value) => Math.abs(value) > MAX_VALUE)) throw refused(`holds values above ${MAX_VALUE}`);
  return { values, shape, hasSigmaUnits: header.__metadata__.units === 'sigma' };
}

function jsonOf(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    return undefined;
  }
}

const refused = (detail: string): LehrError =>
  new LehrError('invalid-input', `/input/image ${detail}.`, {
    problems: [{ pointer: '/input/image', detail }],
  });
