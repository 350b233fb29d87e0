import { expect, test } from 'vitest';
import { sourceSound, statedDurationS } from './ffmpeg-report.ts';

const report = (layout: string): string =>
  `Input #0, flac, from 'subfile,,start,0,end,42,,:cache:pipe:0':
  Metadata:
    Stream #0:0: Audio: pcm, 8000 Hz, mono: metadata
  Duration: 01:02:03.50, start: 0.000000, bitrate: N/A
  Stream #0:0(eng): Audio: pcm, 8000 Hz, mono): Audio: flac, 192000 Hz, ${layout}, s16
  Stream #0:1: Audio: flac, 8000 Hz, mono, s16
`;

test.each([
  ['mono', 1],
  ['stereo', 2],
  ['2.1', 3],
  ['5.1(side)', 6],
  ['7.1', 8],
  ['octagonal', 8],
  ['5.1.4', 10],
  ['8 channels', 8],
  ['8 channels (FL+FR)', 8],
  ['strange', 1],
])(
  'The channel layout %s of a report has %i channels, whatever the metadata of the file says',
  (layout, channels) => {
    expect(sourceSound(report(layout))).toEqual({ sampleRate: 192_000, channels });
  },
);

test('The report on a file says how long it is', () => {
  expect(statedDurationS(report('mono'))).toBe(3723.5);
  expect(statedDurationS('  Duration: N/A, start: 0.000000')).toBe(0);
});

test('A report without an audio track says nothing about sound', () => {
  expect(sourceSound('  Stream #0:0: Video: h264, yuv420p, 64x64')).toBeUndefined();
});
