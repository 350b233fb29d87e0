import { parseSync } from 'subtitle';
import { expect, test } from 'vitest';
import { srtOf, vttOf } from './subtitles.ts';

const CUES = [
  { start: 0, end: 1.6, text: ' Fire it slowly.' },
  { start: 3723.0405, end: 3724, text: ' Then wait.' },
];

test('SRT numbers its cues and writes milliseconds after a comma', () => {
  expect(srtOf(CUES)).toBe(
    '1\n00:00:00,000 --> 00:00:01,600\nFire it slowly.\n\n2\n01:02:03,041 --> 01:02:04,000\nThen wait.\n',
  );
  expect(srtOf([])).toBe('');
});

test('VTT starts with its name and writes milliseconds after a point', () => {
  expect(vttOf(CUES.slice(0, 1))).toBe('WEBVTT\n\n00:00:00.000 --> 00:00:01.600\nFire it slowly.\n');
});

test('A subtitle parser reads both formats', () => {
  for (const text of [srtOf(CUES), vttOf(CUES)]) {
    const cues = parseSync(text).filter(({ type }) => type === 'cue');
    expect(cues).toMatchObject([
      { data: { start: 0, end: 1600, text: 'Fire it slowly.' } },
      { data: { start: 3_723_041, end: 3_724_000, text: 'Then wait.' } },
    ]);
  }
});
