import { describe, expect, it } from 'vitest';
import { sampleFile, sampleManifest } from '../../../../../test/support/audio-golden.ts';
import { sniffFormat } from './sniff.ts';

const FORMATS = { wav: 'wav', aiff: 'aiff', flac: 'flac', mp3: 'mp3', ogg: 'ogg', m4a: 'mp4', webm: 'webm' };

/** An ID3v2 tag with this many bytes in it; its length is coded in four times seven bits. */
const id3 = (length: number): number[] => [
  ...[...'ID3'].map((letter) => letter.charCodeAt(0)),
  ...[3, 0, 0, 0, 0, length >> 7, length & 127],
  ...new Array<number>(length).fill(0xff),
];

describe('sniffFormat', () => {
  it.each(sampleManifest.formats.map(({ file }) => file))(
    'The format of %s is known by its bytes',
    (file) => {
      const name = file.split('.').at(-1) as keyof typeof FORMATS;
      expect(sniffFormat(sampleFile(file))).toBe(FORMATS[name]);
    },
  );

  it('The format of a file is found behind an ID3 tag', () => {
    const tagged = (file: string) => Uint8Array.of(...id3(300), ...sampleFile(file).subarray(0, 3000));
    expect(sniffFormat(tagged('formats/en_circle.flac'))).toBe('flac');
    expect(sniffFormat(tagged('formats/en_circle_vbr_44k_stereo.mp3'))).toBe('mp3');
  });

  it('The first of two mp3 frames is found behind other bytes', () => {
    const frame = [0xff, 0xfb, 0x90, 0x00, ...new Array<number>(413).fill(0)];
    expect(sniffFormat(Uint8Array.of(...new Array<number>(500).fill(7), ...frame, ...frame))).toBe('mp3');
  });

  it('ADTS is not taken for mp3, which begins alike', () => {
    const frame = [0xff, 0xf1, 0x50, 0x80, 0x01, 0x7f, 0xfc, 0, 0, 0, 0];
    expect(sniffFormat(Uint8Array.of(...frame, ...frame, ...frame))).toBe('aac');
  });

  it('One frame header among other bytes is not taken for mp3', () => {
    const lone = [
      ...new Array<number>(300).fill(0),
      0xff,
      0xfb,
      0x90,
      0x00,
      ...new Array<number>(900).fill(0),
    ];
    expect(() => sniffFormat(Uint8Array.from(lone))).toThrow('no audio that Lehr knows: its 1204 bytes');
  });

  it('An empty file is refused as empty', () => {
    expect(() => sniffFormat(new Uint8Array())).toThrow('The audio file is empty (0 bytes).');
  });
});
