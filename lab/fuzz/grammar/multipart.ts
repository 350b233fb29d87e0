/** Multipart bodies with faults in boundaries, part headers and parts. */
import fc from 'fast-check';
import type { FuzzRequest, Piece } from '../request.ts';
import { BEARER, delivery, headOf, text } from './pieces.ts';

const TARGETS = [
  '/v1/files',
  '/v1/audio/transcriptions',
  '/v1/audio/translations',
  '/v1/images/edits',
  '/v1/images/variations',
];

const CONTENT_TYPES = [
  'multipart/form-data; boundary=x',
  'multipart/form-data; boundary="x"',
  'multipart/form-data; charset=utf-8; boundary=x',
  'multipart/form-data;boundary=y; boundary=x',
  `multipart/form-data; boundary=${'x'.repeat(71)}`,
  'multipart/form-data; boundary=',
  'multipart/form-data',
  'multipart/mixed; boundary=x',
  'MULTIPART/FORM-DATA; BOUNDARY=x',
];

const NAMES = [
  'content',
  'file',
  'model',
  'response_format',
  'metadata',
  'image[]',
  'mask',
  'prompt',
  'n',
  '',
  'a"b',
  '__proto__',
  'é',
];

/** The headers of a part, in whole lines. */
const partHeaders: fc.Arbitrary<readonly Piece[]> = fc
  .record({
    disposition: fc.constantFrom(
      'content-disposition: form-data',
      'content-disposition: attachment',
      'Content-Disposition:form-data',
      'content-disposition',
      '',
    ),
    name: fc.option(fc.constantFrom(...NAMES, 'n'.repeat(300))),
    filename: fc.option(fc.constantFrom('a.wav', '', '../../a', 'a\0b', "UTF-8''%ff", 'f'.repeat(2000))),
    type: fc.option(fc.constantFrom('audio/wav', 'application/json', 'x', 'text/plain; charset=utf-16')),
    padding: fc.oneof(
      { weight: 6, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 40_000 }) },
    ),
  })
  .map(({ disposition, name, filename, type, padding }) => {
    const parameters = `${name === null ? '' : `; name="${name}"`}${filename === null ? '' : `; filename="${filename}"`}`;
    const start = `${disposition}${parameters}${type === null ? '' : `\r\ncontent-type: ${type}`}`;
    return padding > 0 ? [text(`${start}\r\nx-pad: `), text('a', padding)] : [text(start)];
  });

const content: fc.Arbitrary<readonly Piece[]> = fc.oneof(
  fc
    .constantFrom('bytes', '', 'ears', 'json', '{"a":1}', '--x', '\r\n--x', '--x--', '\r\n\r\n')
    .map((value) => [text(value)]),
  fc
    .uint8Array({ maxLength: 200 })
    .map((bytes) => [{ base64: Buffer.from(bytes).toString('base64') }] as const),
  fc
    .tuple(fc.constantFrom('a', '\r\n', '-', '\r\n-', '\r\n--'), fc.integer({ min: 1, max: 100_000 }))
    .map(([piece, times]) => [text(piece, times)]),
);

const part: fc.Arbitrary<readonly Piece[]> = fc
  .record({
    boundary: fc.constantFrom(
      '--x\r\n',
      '--x\r\n',
      '--x\r\n',
      '--x \r\n',
      '--x',
      '--y\r\n',
      '--x\n',
      '\r\n--x\r\n',
    ),
    headers: partHeaders,
    gap: fc.constantFrom('\r\n\r\n', '\r\n\r\n', '\r\n\r\n', '\r\n', '\n\n', ''),
    content,
    end: fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', ''),
  })
  .map(({ boundary, headers, gap, content, end }) => [
    text(boundary),
    ...headers,
    text(gap),
    ...content,
    text(end),
  ]);

export const multipartRequest: fc.Arbitrary<FuzzRequest> = fc
  .record({
    target: fc.constantFrom(...TARGETS),
    type: fc.oneof(
      { weight: 5, arbitrary: fc.constant(CONTENT_TYPES[0]) },
      { weight: 1, arbitrary: fc.constantFrom(...CONTENT_TYPES) },
    ),
    preamble: fc.oneof(
      { weight: 5, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 3_000_000 }) },
    ),
    parts: fc.array(part, { maxLength: 6 }),
    repeats: fc.oneof(
      { weight: 8, arbitrary: fc.constant(1) },
      { weight: 1, arbitrary: fc.integer({ min: 2, max: 200 }) },
    ),
    end: fc.constantFrom('--x--\r\n', '--x--\r\n', '--x--\r\n', '--x--', '--x', '', '--x--\r\nmore'),
    how: delivery,
  })
  .map(({ target, type, preamble, parts, repeats, end, how }) => ({
    ...how,
    kind: 'multipart',
    head: headOf('POST', target, [BEARER, `content-type: ${type}`]),
    body: [
      ...(preamble > 0 ? [text('p', preamble), text('\r\n')] : []),
      ...Array.from({ length: repeats }, () => parts.flat()).flat(),
      text(end),
    ],
  }));
