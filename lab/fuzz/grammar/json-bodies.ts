/** JSON bodies of hostile size or shape, and JSON that fits no schema. */
import fc from 'fast-check';
import type { FuzzRequest, Piece } from '../request.ts';
import { BEARER, delivery, headOf, JSON_TYPE, text } from './pieces.ts';

/** Every route that reads a JSON body. */
const TARGETS = [
  'POST /v1/jobs',
  'POST /t2i',
  'POST /v1/images/generations',
  'POST /v1/predictions',
  'POST /v1/models/lehr/tiny/predictions',
  'POST /v1/webhooks/test',
  'POST /v1/keys',
  'PATCH /v1/keys/__spare_key__',
];

/** Mostly small; seldom as large as the largest body and more. */
const count = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 200 }) },
  { weight: 3, arbitrary: fc.integer({ min: 200, max: 20_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 20_000, max: 1_500_000 }) },
);

/** Short texts that, repeated, make up a body that is costly for some parser. */
const REPEATED = [
  '[',
  '{"a":',
  '"\\"":',
  ',"f":1',
  '[],',
  '0',
  '\\u0000',
  '%00',
  ';a=b',
  '\\',
  '"',
  '1e',
  ' ',
  'é',
  '{{a.text}}',
];
const STARTS = [
  '',
  '{"a":"',
  '[',
  '{"type":"text-to-image","input":{"prompt":"x"',
  '{"type":"text-to-image","input":{"prompt":"',
  '{"type":"text-to-image","input":{"prompt":"x"},"metadata":{"a":',
  '{"type":"speech-to-text","input":{"audio":"data:audio/wav',
  '{"type":"speech-to-text","input":{"audio":"data:audio/wav;base64,',
  '{"type":"workflow","nodes":{"a":',
  '{"prompt":"',
  '{"input":{"prompt":"',
];
const ENDS = ['', '"', '"}', '}', '"}}', '}}', ']', ']}', '"}}}'];

const shaped: fc.Arbitrary<readonly Piece[]> = fc
  .record({
    start: fc.constantFrom(...STARTS),
    repeated: fc.constantFrom(...REPEATED),
    count,
    end: fc.constantFrom(...ENDS),
    closing: fc.constantFrom('', ']', '}', '"}'),
    closings: count,
  })
  .map(({ start, repeated, count: times, end, closing, closings }) => [
    text(start),
    ...(times > 0 ? [text(repeated, times)] : []),
    ...(closing !== '' && closings > 0 ? [text(closing, closings)] : []),
    text(end),
  ]);

/** Any JSON value, alone and where a route expects an object. */
const anyJson: fc.Arbitrary<readonly Piece[]> = fc
  .tuple(fc.json({ maxDepth: 8 }), fc.constantFrom('type', 'input', 'metadata', 'prompt', 'nodes', 'limits'))
  .chain(([json, name]) => fc.constantFrom(json, `{"${name}":${json}}`, `{"input":{"${name}":${json}}}`))
  .map((json) => [text(json)]);

export const jsonRequest: fc.Arbitrary<FuzzRequest> = fc
  .record({
    target: fc.constantFrom(...TARGETS),
    body: fc.oneof({ weight: 2, arbitrary: shaped }, { weight: 1, arbitrary: anyJson }),
    how: delivery,
  })
  .map(({ target, body, how }) => {
    const [method, path] = target.split(' ');
    const auth = path.startsWith('/v1/keys') ? 'authorization: Bearer __admin__' : BEARER;
    return { ...how, kind: 'json', head: headOf(method, path, [auth, JSON_TYPE]), body };
  });
