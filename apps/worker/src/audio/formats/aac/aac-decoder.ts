/**
 * AAC-LC, ISO/IEC 14496-3 subpart 4, read here and not by a library: those for JavaScript are GPL (builds of FAAD2) or builds of
 * ffmpeg that nobody keeps up. Left out, because LC streams do not have them or speech at 16 kHz does not miss them: prediction,
 * long-term prediction, coupling channels, and the SBR and parametric stereo of HE-AAC, of which the core is decoded.
 */
import { MAX_CHANNELS } from '../../pcm-block.ts';
import { BitReader } from '../bits.ts';
import type { PacketDecoder } from '../packet-decoder.ts';
import { readAudioSpecificConfig } from './audio-specific-config.ts';
import { BANDS, type Bands } from './bands.ts';
import { type ChannelStream, readChannelStream, readLayout } from './channel-stream.ts';
import { DamagedFrame } from './damaged-frame.ts';
import { Filterbank } from './filterbank.ts';
import { joinStereo } from './stereo.ts';
import { applyTns } from './tns.ts';

/** Syntactic elements of a frame. */
const SINGLE = 0;
const PAIR = 1;
const LOW_FREQUENCY = 3;
const DATA = 4;
const PROGRAM = 5;
const FILL = 6;
const END = 7;

/** `config` is the AudioSpecificConfig of the container. Throws LehrError `invalid-audio`, or UnreadableCodec. */
export function openAac(config: Uint8Array): PacketDecoder {
  const { sampleRate, rateIndex } = readAudioSpecificConfig(config);
  const frames = new FrameDecoder(BANDS[rateIndex]);
  return {
    sampleRate,
    // The container knows it.
    delay: 0,
    decode: (packet) => frames.decode(packet),
    free: () => {},
  };
}

/** As openAac, for frames that carry headers of their own (ADTS, 1.A.2): `first` is one of them. */
export function openAdts(first: Uint8Array): PacketDecoder {
  const [profile, rateIndex] = [first[2] >> 6, (first[2] >> 2) & 15];
  const decoder = openAac(Uint8Array.of(((profile + 1) << 3) | (rateIndex >> 1), (rateIndex & 1) << 7));
  return {
    ...decoder,
    // Seven bytes, and two of checksum when the lowest bit of the second says so.
    decode: (packet) => decoder.decode(packet.subarray((packet[1] & 1) === 1 ? 7 : 9)),
  };
}

class FrameDecoder {
  readonly #bands: Bands;
  /** By place in the frame: elements keep their order from frame to frame. */
  readonly #filterbanks: Filterbank[] = [];
  #noise = 1;

  constructor(bands: Bands) {
    this.#bands = bands;
  }

  decode(packet: Uint8Array): Float32Array[] | undefined {
    try {
      const streams = this.#readFrame(new BitReader(packet));
      if (streams.length < 1 || streams.length > MAX_CHANNELS)
        throw new DamagedFrame('No sound, or too much.');
      return streams.map((stream, channel) => {
        applyTns(stream, this.#bands);
        this.#filterbanks[channel] ??= new Filterbank();
        return this.#filterbanks[channel].synthesize(stream.spectrum, stream.layout);
      });
    } catch (error) {
      if (error instanceof DamagedFrame) return undefined;
      throw error;
    }
  }

  #readFrame(bits: BitReader): ChannelStream[] {
    const streams: ChannelStream[] = [];
    while (!bits.overrun) {
      const element = bits.read(3);
      switch (element) {
        case SINGLE:
        case LOW_FREQUENCY:
          bits.read(4);
          streams.push(this.#readChannel(bits));
          break;
        case PAIR:
          bits.read(4);
          streams.push(...this.#readPair(bits));
          break;
        case DATA:
          skipData(bits);
          break;
        case PROGRAM:
          skipProgram(bits);
          break;
        case FILL:
          skipFill(bits);
          break;
        case END:
          if (bits.overrun) throw new DamagedFrame('The frame ends too early.');
          return streams;
        default:
          throw new DamagedFrame('A coupling channel, which is not supported.');
      }
    }
    throw new DamagedFrame('The frame has no end.');
  }

  #readPair(bits: BitReader): [ChannelStream, ChannelStream] {
    const hasSharedLayout = bits.read(1) === 1;
    if (!hasSharedLayout) return [this.#readChannel(bits), this.#readChannel(bits)];
    const layout = readLayout(bits, this.#bands);
    const isMiddleSide = readMiddleSide(bits, layout.groups.length * layout.bandCount);
    const left = this.#readChannel(bits, layout);
    const right = this.#readChannel(bits, layout);
    joinStereo(left, right, isMiddleSide);
    return [left, right];
  }

  #readChannel(bits: BitReader, layout?: ChannelStream['layout']): ChannelStream {
    return readChannelStream(bits, this.#bands, layout, () => this.#random());
  }

  /** -1 to 1, the same for the same file. Numerical Recipes' quick generator. */
  #random(): number {
    this.#noise = (Math.imul(this.#noise, 1664525) + 1013904223) | 0;
    return this.#noise / 2 ** 31;
  }
}

/** For no band, for each, or for all. */
function readMiddleSide(bits: BitReader, count: number): Uint8Array {
  const kind = bits.read(2);
  if (kind === 3) throw new DamagedFrame('A reserved kind of stereo.');
  return Uint8Array.from({ length: count }, () => (kind === 1 ? bits.read(1) : kind / 2));
}

function skipData(bits: BitReader): void {
  bits.read(4);
  const isAligned = bits.read(1) === 1;
  const count = bits.read(8);
  const length = count === 255 ? 255 + bits.read(8) : count;
  if (isAligned) bits.alignToByte();
  bits.skip(length * 8);
}

/** Padding, and SBR. */
function skipFill(bits: BitReader): void {
  const count = bits.read(4);
  bits.skip((count === 15 ? 14 + bits.read(8) : count) * 8);
}

/** Which speaker each element is for: all are mixed into one. */
function skipProgram(bits: BitReader): void {
  bits.read(10);
  const [front, side, back] = [bits.read(4), bits.read(4), bits.read(4)];
  const [lowFrequency, data, coupling] = [bits.read(2), bits.read(3), bits.read(4)];
  if (bits.read(1) === 1) bits.read(4);
  if (bits.read(1) === 1) bits.read(4);
  if (bits.read(1) === 1) bits.read(3);
  bits.skip((front + side + back + coupling) * 5 + (lowFrequency + data) * 4);
  bits.alignToByte();
  bits.skip(bits.read(8) * 8);
}
