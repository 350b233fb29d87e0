import { parseSync } from 'subtitle';
import { expect, test } from 'vitest';
import { Random } from '../../../../../test/support/random.ts';
import type { Segment, Transcript } from '../speech-to-text.ts';
import { formatTranscript, toSrt, toVtt } from './formats.ts';

const segment = (start: number, end: number, text: string, id = 0): Segment => ({
  id,
  seek: 0,
  start,
  end,
  text,
  tokens: [50364, 7652],
  temperature: 0,
  avg_logprob: -0.21,
  compression_ratio: 0.9,
  no_speech_prob: 0.02,
});
const transcript = (segments: Segment[], fields: Partial<Transcript> = {}): Transcript => ({
  text: segments
    .map(({ text }) => text)
    .join('')
    .trim(),
  language: 'en',
  duration: 2,
  task: 'transcribe',
  segments,
  ...fields,
});

const FIRE = segment(0, 1.6, ' Fire it slowly.');

test('The text format is the transcript and a newline', () => {
  const { contentType, body } = formatTranscript(transcript([FIRE]), 'text');
  expect(contentType).toBe('text/plain; charset=utf-8');
  expect(body).toBe('Fire it slowly.\n');
});

test('The json format has the text and the seconds of audio', () => {
  const { contentType, body } = formatTranscript(transcript([FIRE]), 'json');
  expect(contentType).toBe('application/json');
  expect(JSON.parse(body)).toEqual({ text: 'Fire it slowly.', usage: { type: 'duration', seconds: 2 } });
});

test('The verbose_json format has every field and names the language in English', () => {
  const words = [{ word: 'Fire', start: 0, end: 0.4 }];
  const body = (fields: Partial<Transcript>) =>
    JSON.parse(formatTranscript(transcript([FIRE], fields), 'verbose_json').body);
  expect(body({ words })).toEqual({
    task: 'transcribe',
    language: 'english',
    duration: 2,
    text: 'Fire it slowly.',
    segments: [FIRE],
    words,
    usage: { type: 'duration', seconds: 2 },
  });
  expect(body({ language: 'ht', task: 'translate' })).toMatchObject({
    language: 'haitian creole',
    task: 'translate',
  });
  expect(body({})).not.toHaveProperty('words');
});

test('The srt format numbers its cues and writes milliseconds after a comma', () => {
  const { contentType, body } = formatTranscript(
    transcript([FIRE, segment(3723.0405, 3724, ' Then wait.')]),
    'srt',
  );
  expect(contentType).toBe('application/x-subrip; charset=utf-8');
  expect(body).toBe(
    '1\n00:00:00,000 --> 00:00:01,600\nFire it slowly.\n\n2\n01:02:03,041 --> 01:02:04,000\nThen wait.\n',
  );
});

test('The vtt format begins with WEBVTT and writes milliseconds after a point', () => {
  const { contentType, body } = formatTranscript(transcript([FIRE]), 'vtt');
  expect(contentType).toBe('text/vtt; charset=utf-8');
  expect(body).toBe('WEBVTT\n\n00:00:00.000 --> 00:00:01.600\nFire it slowly.\n');
});

test('A transcript without text is an empty srt and a vtt without cues', () => {
  expect(toSrt([])).toBe('');
  expect(toVtt([])).toBe('WEBVTT\n');
  expect(toSrt([segment(0, 1, ' \n ')])).toBe('');
});

test('Cue times are rounded to milliseconds and carry into seconds, minutes and hours', () => {
  expect(toSrt([segment(59.9994, 3599.9996, 'a')])).toContain('00:00:59,999 --> 01:00:00,000');
});

test('Text with arrows, tags and line breaks stays inside its cue', () => {
  const hostile = segment(0, 1, 'a --> b\r\n\r\n2\n<b>&amp;\u0000</b>');
  expect(toSrt([hostile])).toBe('1\n00:00:00,000 --> 00:00:01,000\na -> b 2 <b>&amp; </b>\n');
  expect(toVtt([hostile])).toBe(
    'WEBVTT\n\n00:00:00.000 --> 00:00:01.000\na --&gt; b 2 &lt;b&gt;&amp;amp; &lt;/b&gt;\n',
  );
});

const PIECES = [
  'Hello',
  'señor',
  '你好',
  '42',
  '--',
  '->',
  '<i>',
  '&',
  '👩‍👧',
  '\n',
  '\r\n\r\n',
  '"x"',
  'NOTE',
  ' ',
];

/** Segments of bad models: overlapping, empty, without duration, out of order. */
function randomSegments(seed: number): Segment[] {
  const random = new Random(seed);
  let at = random.next() * 5000;
  return Array.from({ length: random.below(12) }, () => {
    const start = at;
    const end = start + (random.below(4) === 0 ? 0 : random.next() * 7);
    at = Math.max(0, random.below(3) === 0 ? end - random.next() * 3 : end + random.next() * random.next());
    const text = Array.from({ length: random.below(6) }, () => random.pick(PIECES)).join(' ');
    return segment(start, end, text);
  });
}

const oneLine = (text: string): string => text.replace(/[\r\n]+/g, ' ').trim();
const withoutEscapes = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');

test('A parser reads back a thousand random transcripts: all text, in order of time, no overlapping cues', () => {
  for (let seed = 0; seed < 1000; seed++) {
    const segments = randomSegments(seed);
    const wanted = [...segments]
      .sort((a, b) => a.start - b.start)
      .map(({ text }) => oneLine(text))
      .filter(Boolean);
    for (const [written, textOf] of [
      [toSrt(segments), (text: string) => text],
      [toVtt(segments), withoutEscapes],
    ] as const) {
      const cues = parseSync(written).flatMap((node) => (node.type === 'cue' ? [node.data] : []));
      const arrows = (text: string) => text.replaceAll('-->', '->');
      expect(cues.map(({ text }) => arrows(textOf(text)))).toEqual(wanted.map(arrows));
      let last = 0;
      for (const { start, end } of cues) {
        expect(start).toBeGreaterThanOrEqual(last);
        expect(end).toBeGreaterThan(start);
        last = end;
      }
    }
  }
});

test('Times of cues that do not touch are kept to the millisecond', () => {
  const segments = [segment(0.0004, 1.2346, 'a'), segment(1.5, 2, 'b')];
  const cues = parseSync(toSrt(segments)).map(({ data }) => data);
  expect(cues).toMatchObject([
    { start: 0, end: 1235 },
    { start: 1500, end: 2000 },
  ]);
});
