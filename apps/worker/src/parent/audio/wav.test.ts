import { describe, expect, it } from 'vitest';
import { PCM16, wavChunk, wavFormat, wavOf } from '../../../../../test/support/audio-files.ts';
import { isPlain, plainSamples, readWavHeader } from './wav.ts';

const SOUND = Buffer.from(Int16Array.of(0, 16_384, -32_768, 8192).buffer);

async function plainSamplesOf(bytes: Uint8Array): Promise<number[]> {
  const header = readWavHeader(bytes);
  expect(isPlain(header)).toBe(true);
  const samples: number[] = [];
  for await (const block of plainSamples(header)) samples.push(...block);
  return samples;
}

const extensible = (guid: string): Uint8Array =>
  wavOf(
    wavFormat({ ...PCM16, tag: 0xfffe }, [22, 0, 16, 0, 4, 0, 0, 0, ...Buffer.from(guid, 'hex')]),
    wavChunk('data', SOUND),
  );

describe('The header of a WAV file', () => {
  it('The data of a WAV file are found behind unknown chunks, also odd ones with their padding', async () => {
    const bytes = wavOf(
      wavChunk('LIST', Buffer.alloc(7)),
      wavFormat(PCM16),
      wavChunk('fact', Buffer.alloc(4)),
      wavChunk('data', SOUND),
    );
    expect(await plainSamplesOf(bytes)).toEqual([0, 0.5, -1, 0.25]);
  });

  it.each([0, 0xffff_ffff])(
    'The data of a WAV file reach to its end when its writer left %i as their size',
    async (size) => {
      const bytes = wavOf(wavFormat(PCM16), wavChunk('data', SOUND, size));
      expect(await plainSamplesOf(bytes)).toEqual([0, 0.5, -1, 0.25]);
    },
  );

  it('Half a sample and what follows the data of a WAV file are left out', async () => {
    const bytes = wavOf(
      wavFormat(PCM16),
      wavChunk('data', SOUND.subarray(0, 5)),
      wavChunk('LIST', Buffer.alloc(100)),
    );
    expect(await plainSamplesOf(bytes)).toEqual([0, 0.5]);
  });

  it('The data of an RF64 file are found, whose size is in another chunk', async () => {
    const bytes = wavOf(
      wavChunk('ds64', Buffer.alloc(28)),
      wavFormat(PCM16),
      wavChunk('data', SOUND, 0xffff_ffff),
    );
    bytes.set(Buffer.from('RF64'));
    expect(await plainSamplesOf(bytes)).toEqual([0, 0.5, -1, 0.25]);
  });

  it('An extensible WAV format is that of its sub-format, which must be a known one', async () => {
    expect(await plainSamplesOf(extensible('0100000000001000800000aa00389b71'))).toEqual([0, 0.5, -1, 0.25]);
    expect(() => readWavHeader(extensible('0100000000001000800000aa00389b72'))).toThrow('unknown sub-format');
  });

  it('A compressed WAV file is left to ffmpeg', () => {
    const bytes = wavOf(wavFormat({ ...PCM16, tag: 0x11, bits: 4 }), wavChunk('data', SOUND));
    expect(isPlain(readWavHeader(bytes))).toBe(false);
  });

  it.each([9, 65_535])('A WAV file that says it has %i channels is refused', (channels) => {
    const bytes = wavOf(wavFormat({ ...PCM16, channels }), wavChunk('data', SOUND));
    expect(() => readWavHeader(bytes)).toThrow(
      `The file says it has ${channels} channels; 1 to 8 are supported.`,
    );
  });

  it('A WAV file is read from any place in a buffer', async () => {
    const bytes = wavOf(wavFormat(PCM16), wavChunk('data', SOUND));
    const around = new Uint8Array(bytes.length + 10);
    around.set(bytes, 5);
    expect(await plainSamplesOf(around.subarray(5, 5 + bytes.length))).toEqual([0, 0.5, -1, 0.25]);
  });
});
