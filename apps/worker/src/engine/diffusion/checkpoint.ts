/**
 * A checkpoint: the state of an unfinished picture as bytes, from which another process continues with the same bits.
 * docs/diffusion.md describes the format; a change of it needs another version.
 *
 *   "LEHRCKPT", the length of the header as uint32, the header as JSON, the values, CRC-32 of all bytes before it
 */
import { crc32 } from 'node:zlib';
import { z } from 'zod';
import { NOISE_WORDS, type NoiseState } from './noise.ts';
import type { SamplerState } from './samplers/sampler.ts';

export interface SampleState {
  /** `[channels, height, width]` of the latent, row-major. */
  readonly latent: Float32Array;
  readonly sampler: SamplerState;
  readonly noise: NoiseState;
}

/** This checkpoint cannot be used; the message says why. The picture then starts at its first step. */
export class UnusableCheckpoint extends Error {}

const CHECKPOINT_VERSION = 1;
const MAGIC = Buffer.from('LEHRCKPT');
const HEADER_AT = MAGIC.length + 4;
const CRC_BYTES = 4;
const VALUE_BYTES = 4;

const HeaderSchema = z.object({
  version: z.literal(CHECKPOINT_VERSION),
  /** Digest of what the state belongs to: the model with its weights, and the input. */
  identity: z.string(),
  precision: z.literal('float32'),
  /** Model calls made. */
  call: z.int().min(0),
  /** Values of the latent, and of each latent of the history. */
  values: z.int().min(1),
  history: z.int().min(0),
  noise: z.object({ used: z.int().min(0).max(NOISE_WORDS), spare: z.number().nullable() }),
});
type Header = z.output<typeof HeaderSchema>;

export function encodeCheckpoint(identity: string, { latent, sampler, noise }: SampleState): Uint8Array {
  const header: Header = {
    version: CHECKPOINT_VERSION,
    identity,
    precision: 'float32',
    call: sampler.call,
    values: latent.length,
    history: sampler.history.length,
    noise: { used: noise.used, spare: noise.spare },
  };
  const text = Buffer.from(JSON.stringify(header));
  const values = [latent, ...sampler.history, noise.words].map(bytesOf);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  const body = Buffer.concat([MAGIC, length, text, ...values, Buffer.alloc(CRC_BYTES)]);
  const end = body.length - CRC_BYTES;
  body.writeUInt32LE(crc32(body.subarray(0, end)), end);
  return body;
}

/** Throws UnusableCheckpoint for damaged bytes, another version of the format, and the state of another picture. */
export function decodeCheckpoint(bytes: Uint8Array, identity: string): SampleState {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { header, valuesAt } = readHeader(body);
  if (header.identity !== identity) {
    throw new UnusableCheckpoint('it belongs to another input, another model or other weights');
  }
  const { values, history, noise, call } = header;
  const latentBytes = values * VALUE_BYTES;
  const wordsAt = valuesAt + (1 + history) * latentBytes;
  const end = wordsAt + NOISE_WORDS * VALUE_BYTES;
  if (end !== body.length - CRC_BYTES) throw new UnusableCheckpoint('it has another length than it states');
  const latents = Array.from({ length: 1 + history }, (_, i) => {
    const at = valuesAt + i * latentBytes;
    return new Float32Array(copyOf(body, at, at + latentBytes));
  });
  const [latent, ...kept] = latents;
  return {
    latent,
    sampler: { call, history: kept },
    noise: { words: new Uint32Array(copyOf(body, wordsAt, end)), used: noise.used, spare: noise.spare },
  };
}

/** Whether this is a checkpoint with this identity. */
export function belongsTo(bytes: Uint8Array, identity: string): boolean {
  try {
    return (
      readHeader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).header.identity === identity
    );
  } catch {
    return false;
  }
}

function readHeader(body: Buffer): { header: Header; valuesAt: number } {
  const end = body.length - CRC_BYTES;
  if (end < HEADER_AT || !body.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw new UnusableCheckpoint('it is not a checkpoint');
  }
  if (crc32(body.subarray(0, end)) !== body.readUInt32LE(end)) throw new UnusableCheckpoint('it is damaged');
  const valuesAt = HEADER_AT + body.readUInt32LE(MAGIC.length);
  const parsed = HeaderSchema.safeParse(jsonOf(body.subarray(HEADER_AT, valuesAt)));
  if (parsed.success) return { header: parsed.data, valuesAt };
  const { path, message } = parsed.error.issues[0];
  throw new UnusableCheckpoint(`its header does not fit this version of Lehr: ${path.join('.')}: ${message}`);
}

function jsonOf(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    throw new UnusableCheckpoint('its header is not JSON');
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array | Uint32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** A copy, because the bytes may begin at an address that a Float32Array cannot view. */
const copyOf = (body: Buffer, from: number, to: number): ArrayBuffer =>
  new Uint8Array(body.subarray(from, to)).buffer;
