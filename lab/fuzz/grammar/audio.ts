/** Audio files with faults in their containers, sent as uploads and inside jobs. */
import fc from 'fast-check';
import { PCM16, silentFlac, wavChunk, wavFormat, wavOf } from '../../../test/support/audio-files.ts';
import type { FuzzRequest, Piece } from '../request.ts';
import { BEARER, delivery, headOf, JSON_TYPE, text } from './pieces.ts';

const field = fc.oneof(fc.integer({ min: 0, max: 65_535 }), fc.constantFrom(0, 1, 2, 8, 16, 24, 32));

const wav: fc.Arbitrary<Uint8Array> = fc
  .record({
    format: fc.oneof(
      fc.constant(PCM16),
      fc.record({
        tag: fc.oneof(field, fc.constantFrom(1, 3, 6, 7, 2, 17, 85, 0xfffe)),
        channels: field,
        rate: fc.oneof(fc.constantFrom(0, 1, 8000, 16_000, 192_000, 2 ** 32 - 1), fc.nat()),
        bits: field,
      }),
    ),
    more: fc.array(fc.nat({ max: 255 }), { maxLength: 24 }),
    statedSize: fc.option(fc.constantFrom(0, 1, 2 ** 31, 2 ** 32 - 1)),
    samples: fc.integer({ min: 0, max: 4000 }),
    hasFormat: fc.constantFrom(true, true, true, false),
  })
  .map(({ format, more, statedSize, samples, hasFormat }) => {
    const data = Buffer.alloc(samples);
    return wavOf(
      ...(hasFormat ? [wavFormat(format, more)] : []),
      wavChunk('data', data, statedSize ?? data.length),
    );
  });

const flac = fc
  .record({
    seconds: fc.integer({ min: 0, max: 30 }),
    declaredSeconds: fc.constantFrom(0, 1, 30, 100_000),
  })
  .map(silentFlac);

/** First bytes of the other formats, without what should follow. */
const heads = fc
  .tuple(
    fc.constantFrom(
      'OggS\0\u0002\0\0\0\0\0\0\0\0',
      '\u001a\u0045\u00df\u00a3\u0001\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff',
      '\0\0\0\u0018ftypisom\0\0\u0002\0isomiso2',
      '\0\0\0\u0001moov\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff',
      'ID3\u0004\0\0\u007f\u007f\u007f\u007f',
      '\u00ff\u00fb\u0090\u0000',
      '\u00ff\u00f1\u0050\u0080\u0001\u001f\u00fc',
      'FORM\0\0\0\0AIFFCOMM',
      'caff\0\u0001\0\0desc',
      '#!AMR\n',
      '.snd\0\0\0\u0018',
      '#EXTM3U\nfile:///etc/passwd\n',
    ),
    fc.uint8Array({ maxLength: 500 }),
  )
  .map(([head, rest]) => Buffer.concat([Buffer.from(head, 'latin1'), rest]));

/** Changes single bytes and cuts the end off. */
const faulty = fc
  .record({
    file: fc.oneof(wav, flac, heads),
    changes: fc.array(fc.tuple(fc.nat({ max: 200 }), fc.nat({ max: 255 })), { maxLength: 4 }),
    kept: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
  })
  .map(({ file, changes, kept }): Piece => {
    const bytes = Buffer.from(file).subarray(0, Math.ceil(file.length * kept));
    for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
    return { base64: bytes.toString('base64') };
  });

const PART = '--x\r\ncontent-disposition: form-data; name=';

export const audioRequest: fc.Arbitrary<FuzzRequest> = fc
  .record({
    file: faulty,
    way: fc.constantFrom('form', 'upload', 'inline'),
    format: fc.constantFrom('json', 'verbose_json', 'srt', 'text'),
    how: delivery,
  })
  .map(({ file, way, format, how }) => {
    if (way === 'inline') {
      const { base64 } = file as Extract<Piece, { base64: string }>;
      const body = `{"type":"speech-to-text","input":{"audio":"data:audio/wav;base64,${base64}"}}`;
      return {
        ...how,
        kind: 'audio',
        head: headOf('POST', '/v1/jobs?wait=1', [BEARER, JSON_TYPE]),
        body: [text(body)],
      };
    }
    const isForm = way === 'form';
    const fields = isForm
      ? `${PART}"model"\r\n\r\nears\r\n${PART}"response_format"\r\n\r\n${format}\r\n`
      : '';
    const target = isForm ? '/v1/audio/transcriptions' : '/v1/files';
    return {
      ...how,
      kind: 'audio',
      head: headOf('POST', target, [BEARER, 'content-type: multipart/form-data; boundary=x']),
      body: [
        text(`${fields}${PART}"${isForm ? 'file' : 'content'}"; filename="a.wav"\r\n\r\n`),
        file,
        text('\r\n--x--\r\n'),
      ],
    };
  });
