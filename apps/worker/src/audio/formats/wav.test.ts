import { describe, expect, it } from 'vitest';
import { UnreadableCodec } from './unreadable-codec.ts';
import { decodeWav } from './wav.ts';

const PCM16 = { tag: 1, channels: 1, rate: 16_000, bits: 16 };

function chunk(id: string, body: Uint8Array, size = body.length): Buffer {
  const head = Buffer.alloc(8);
  head.write(id);
  head.writeUInt32LE(size, 4);
  return Buffer.concat([head, body, Buffer.alloc(body.length % 2)]);
}

function format({ tag, channels, rate, bits }: typeof PCM16, more: readonly number[] = []): Buffer {
  const body = Buffer.alloc(16);
  body.writeUInt16LE(tag, 0);
  body.writeUInt16LE(channels, 2);
  body.writeUInt32LE(rate, 4);
  body.writeUInt16LE(((channels * bits) / 8) % 65_536, 12);
  body.writeUInt16LE(bits, 14);
  return chunk('fmt ', Buffer.concat([body, Buffer.from(more)]));
}

const wav = (...chunks: readonly Buffer[]): Uint8Array =>
  new Uint8Array(Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVE'), ...chunks]));

const SOUND = Buffer.from(Int16Array.of(0, 16_384, -32_768, 8192).buffer);

/** The first channel, or all of them one after the other. */
const samplesOf = (bytes: Uint8Array): number[] =>
  [...decodeWav(bytes)].flatMap(({ channels }) => channels.flatMap((channel) => [...channel]));

describe('decodeWav', () => {
  it('steps over chunks it does not know, odd ones with their padding', () => {
    const bytes = wav(
      chunk('LIST', Buffer.alloc(7)),
      format(PCM16),
      chunk('fact', Buffer.alloc(4)),
      chunk('data', SOUND),
    );
    expect(samplesOf(bytes)).toEqual([0, 0.5, -1, 0.25]);
  });

  it.each([0, 0xffff_ffff])('reads to the end when the size was never filled in (%i)', (size) => {
    expect(samplesOf(wav(format(PCM16), chunk('data', SOUND, size)))).toEqual([0, 0.5, -1, 0.25]);
  });

  it('leaves out what comes after the sound, and half a sample', () => {
    const bytes = wav(format(PCM16), chunk('data', SOUND.subarray(0, 5)), chunk('LIST', Buffer.alloc(100)));
    expect(samplesOf(bytes)).toEqual([0, 0.5]);
  });

  it('takes channels apart', () => {
    expect(samplesOf(wav(format({ ...PCM16, channels: 2 }), chunk('data', SOUND)))).toEqual([
      0, -1, 0.5, 0.25,
    ]);
  });

  it('reads RF64, whose sizes stand elsewhere', () => {
    const bytes = wav(chunk('ds64', Buffer.alloc(28)), format(PCM16), chunk('data', SOUND, 0xffff_ffff));
    bytes.set(Buffer.from('RF64'));
    expect(samplesOf(bytes)).toEqual([0, 0.5, -1, 0.25]);
  });

  it('reads what an extensible format names, and refuses what it does not', () => {
    const extensible = (guid: string) =>
      wav(
        format({ ...PCM16, tag: 0xfffe }, [22, 0, 16, 0, 4, 0, 0, 0, ...Buffer.from(guid, 'hex')]),
        chunk('data', SOUND),
      );
    expect(samplesOf(extensible('0100000000001000800000aa00389b71'))).toEqual([0, 0.5, -1, 0.25]);
    expect(() => samplesOf(extensible('0100000000001000800000aa00389b72'))).toThrow('unknown sub-format');
  });

  it('leaves the codecs of old players to ffmpeg', () => {
    expect(() => samplesOf(wav(format({ ...PCM16, tag: 0x11, bits: 4 }), chunk('data', SOUND)))).toThrow(
      new UnreadableCodec('IMA ADPCM'),
    );
  });

  it.each([9, 65_535])('allocates nothing for %i channels', (channels) => {
    expect(() => samplesOf(wav(format({ ...PCM16, channels }), chunk('data', SOUND)))).toThrow(
      `The file says it has ${channels} channels; 1 to 8 are supported.`,
    );
  });
});
