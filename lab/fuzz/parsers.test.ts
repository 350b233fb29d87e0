/** Our own parsers on generated input, guided by coverage: each answers with a result that holds its promise, or with its own error. */
import { expect, test } from 'vitest';
import { UploadPace } from '../../apps/api/src/http/bodies/body-reads.ts';
import { decodeDataUri } from '../../apps/api/src/http/bodies/inline-audio.ts';
import { checkJsonShape, MAX_DEPTH, MAX_VALUES } from '../../apps/api/src/http/bodies/json-shape.ts';
import { readMultipart } from '../../apps/api/src/jobs/files/multipart.ts';
import { sniffFormat } from '../../apps/worker/src/parent/audio/sniff.ts';
import { readWavHeader } from '../../apps/worker/src/parent/audio/wav.ts';
import { LehrError, systemClock } from '../../packages/shared/src/index.ts';
import { PCM16, silentFlac, wavChunk, wavFormat, wavOf } from '../../test/support/audio-files.ts';
import { Random } from '../../test/support/random.ts';
import { guided } from './coverage.ts';

const SEED = 20_261_122;

/** The parser's own refusal is undefined; any other error is thrown on. */
function resultOf<T>(parse: () => T, ...codes: readonly string[]): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof LehrError && codes.includes(error.code)) return undefined;
    throw error;
  }
}

const seedsOf = (...texts: readonly (string | Uint8Array)[]): Buffer[] =>
  texts.map((each) => Buffer.from(each));

/** Depth and number of values of a parsed text; duplicate names count once, so there are at least this many. */
function shapeOf(value: unknown): { depth: number; values: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, values: 0 };
  const inner = Object.values(value).map(shapeOf);
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    values: inner.reduce((sum, { values }) => sum + values, inner.length),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

test('The check of a JSON body passes no text that is deeper or has more values than it allows', {
  tags: ['long'],
}, async () => {
  const deep = `${'['.repeat(MAX_DEPTH)}${']'.repeat(MAX_DEPTH)}`;
  const report = await guided({
    files: ['api/src/http/bodies/json-shape.ts'],
    seeds: seedsOf('{"a":"\\\\\\"[","b":[1,2,{}]}', deep, `[${'1,'.repeat(MAX_VALUES - 2)}1]`, '"', '\\"'),
    random: new Random(SEED),
    inputs: 8000,
    run: (input) => {
      const text = input.toString();
      const isAllowed = resultOf(() => [checkJsonShape(text)], 'invalid-request') !== undefined;
      const { depth, values } = shapeOf(parsed(text));
      if (isAllowed) expect([depth <= MAX_DEPTH, values <= MAX_VALUES]).toEqual([true, true]);
    },
  });
  expect(report.blocks).toBeGreaterThan(10);
});

test('The multipart reader ends every body with its parts or with a refusal', {
  tags: ['long'],
}, async () => {
  const part = 'content-disposition: form-data; name="content"; filename="a.wav"';
  const limits = { maxFileBytes: 4000, maxFiles: 2 };
  const report = await guided({
    files: ['api/src/jobs/files/multipart.ts', 'multipart-parser/dist/lib/multipart.js'],
    seeds: seedsOf(
      `--x\r\n${part}\r\n\r\nbytes\r\n--x\r\ncontent-disposition: form-data; name="a"\r\n\r\nb\r\n--x--\r\n`,
      `preamble\r\n--x\r\n${part}\r\ncontent-type: audio/wav\r\n\r\n\r\n--x\r\n\r\n\r\n--x--`,
    ),
    random: new Random(SEED),
    inputs: 4000,
    run: async (input) => {
      const request = new Request('http://lehr/', {
        method: 'POST',
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
        body: new Uint8Array(input),
      });
      const body = await readMultipart(request, limits, new UploadPace(systemClock)).catch((error) =>
        resultOf(
          () => {
            throw error;
          },
          'invalid-request',
          'too-large',
        ),
      );
      const fileBytes = body?.files.reduce((sum, { bytes }) => sum + bytes.length, 0) ?? 0;
      expect(fileBytes).toBeLessThanOrEqual(Math.min(limits.maxFileBytes, input.length));
      for (const [name] of body?.fields ?? []) expect(name).not.toBe('');
    },
  });
  expect(report.blocks).toBeGreaterThan(20);
});

test('A WAV header is refused, or names a format within its bounds and data inside the file', {
  tags: ['long'],
}, async () => {
  const report = await guided({
    files: ['worker/src/parent/audio/wav.ts'],
    seeds: seedsOf(
      wavOf(wavFormat(PCM16), wavChunk('data', Buffer.alloc(64))),
      wavOf(wavFormat({ ...PCM16, tag: 0xfffe }, Array(24).fill(0)), wavChunk('data', Buffer.alloc(8), 0)),
      wavOf(wavChunk('LIST', Buffer.alloc(7)), wavFormat({ ...PCM16, tag: 3, bits: 32 })),
    ),
    random: new Random(SEED),
    inputs: 20_000,
    run: (input) => {
      const header = resultOf(() => readWavHeader(input), 'invalid-audio');
      if (!header) return;
      expect([header.channelCount >= 1, header.channelCount <= 8]).toEqual([true, true]);
      expect([header.sampleRate >= 8000, header.sampleRate <= 192_000]).toEqual([true, true]);
      expect(header.data.length).toBeLessThanOrEqual(input.length);
    },
  });
  expect(report.blocks).toBeGreaterThan(20);
});

test('The format of every file is found or refused', { tags: ['long'] }, async () => {
  const heads = [
    'OggS',
    'ID3\x04\0\0\0\0\0\x05',
    'FORM\0\0\0\0AIFF',
    '\0\0\0\x18ftypisom',
    'caff',
    '#!AMR',
    '.snd',
  ];
  const report = await guided({
    files: ['worker/src/parent/audio/sniff.ts'],
    seeds: [
      ...heads.map((head) => Buffer.from(head.padEnd(200, '\0'), 'latin1')),
      Buffer.from(silentFlac({ seconds: 1, declaredSeconds: 1 })),
      Buffer.from('fffb9000'.padEnd(1000, '0'), 'hex'),
      Buffer.from('fff15080011ffc'.padEnd(1000, '0'), 'hex'),
    ],
    random: new Random(SEED),
    inputs: 20_000,
    run: (input) => void resultOf(() => sniffFormat(input), 'invalid-audio'),
  });
  expect(report.blocks).toBeGreaterThan(20);
});

test('The audio of a data: URI is never longer than the URI', { tags: ['long'] }, async () => {
  const report = await guided({
    files: ['api/src/http/bodies/inline-audio.ts'],
    seeds: seedsOf(
      'data:audio/wav;base64,AAAA',
      'data:;base64,%2bAA%3d%3d',
      'data:,x',
      'data:a;b=c;BASE64,AA==',
    ),
    random: new Random(SEED),
    inputs: 10_000,
    run: (input) => {
      const uri = input.toString();
      expect(decodeDataUri(uri)?.bytes.length ?? 0).toBeLessThanOrEqual(uri.length);
    },
  });
  expect(report.blocks).toBeGreaterThan(2);
});
