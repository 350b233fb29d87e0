import { LehrError } from '@lehr/shared';
import { checkShape } from '../../pcm-block.ts';
import { BitReader } from '../bits.ts';
import { UnreadableCodec } from '../unreadable-codec.ts';
import { SAMPLE_RATES } from './bands.ts';

export interface AacStream {
  readonly sampleRate: number;
  /** Index into the tables that go by sample rate. */
  readonly rateIndex: number;
}

const LOW_COMPLEXITY = 2;
/** SBR and parametric stereo: an AAC-LC core, and a recipe for what lies above its half of the spectrum. */
const EXTENSIONS = [5, 29];
const EXPLICIT_RATE = 15;

/**
 * What a stream is, as its container says: ISO/IEC 14496-3, 1.6.2. Of HE-AAC this finds the core, which at half the rate still
 * holds all that 16 kHz can. Throws LehrError `invalid-audio`, or UnreadableCodec for the other profiles.
 */
export function readAudioSpecificConfig(bytes: Uint8Array): AacStream {
  const bits = new BitReader(bytes);
  let type = readObjectType(bits);
  const rate = readRate(bits);
  bits.read(4);
  if (EXTENSIONS.includes(type)) {
    readRate(bits);
    type = readObjectType(bits);
  }
  const isShorter = bits.read(1) === 1;
  if (bits.overrun) throw new LehrError('invalid-audio', 'The AAC header is too short.');
  if (type !== LOW_COMPLEXITY || isShorter) throw new UnreadableCodec(`AAC of type ${type}`);
  checkShape(rate, 1);
  return { sampleRate: rate, rateIndex: nearestIndex(rate) };
}

function readObjectType(bits: BitReader): number {
  const type = bits.read(5);
  return type === 31 ? 32 + bits.read(6) : type;
}

function readRate(bits: BitReader): number {
  const index = bits.read(4);
  return index === EXPLICIT_RATE ? bits.read(24) : SAMPLE_RATES[index];
}

/** An explicit rate takes the tables of the listed one that is nearest by ratio. */
function nearestIndex(rate: number): number {
  const distances = SAMPLE_RATES.map((listed) => Math.abs(Math.log(listed / rate)));
  return distances.indexOf(Math.min(...distances));
}
