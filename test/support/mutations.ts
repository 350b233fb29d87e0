/** Small mutations of valid requests, such as faulty clients, proxies and attackers make. */
import type { Draft } from './openapi.ts';
import type { Random } from './random.ts';

const JUNK: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  1.5,
  1e308,
  -1e308,
  2 ** 31,
  2 ** 53,
  Number.MIN_VALUE,
  '',
  ' ',
  '0',
  '1e3',
  'null',
  'true',
  'NaN',
  '\0',
  'a\0b',
  '\ud800',
  '\u202e\u200b',
  '🔥'.repeat(50),
  'x'.repeat(300),
  'x'.repeat(40_000),
  '__proto__',
  'constructor',
  '../../etc/passwd',
  '%2e%2e%2f',
  "'; DROP TABLE jobs; --",
  '{{7*7}}%{7*7}',
  '\r\nset-cookie: a=b',
  '{"level":"fatal"}\n\u001b[31m',
  '2026-13-45T99:99:99Z',
  'http://169.254.169.254/',
  'file:///etc/passwd',
  'data:text/plain;base64,AAAA',
  [],
  {},
  [[]],
  [null],
  { toString: 'x' },
  { $gt: '' },
  Array.from({ length: 500 }, () => 0),
];

const CONTENT_TYPES = [
  'application/json',
  'application/json; charset=utf-16',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'application/octet-stream',
  '',
];

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const HEADERS = ['prefer', 'if-none-match', 'idempotency-key', 'last-event-id', 'content-encoding', 'range'];

/** A mutated request, which may be invalid. */
export interface Damaged {
  readonly method: string;
  readonly draft: Draft;
}

export function damaged(draft: Draft, random: Random): Damaged {
  let result: Damaged = { method: draft.operation.method, draft };
  const times = 1 + random.below(3);
  for (let i = 0; i < times; i++) result = random.pick(WAYS)(result, random);
  return result;
}

type Way = (request: Damaged, random: Random) => Damaged;

const WAYS: readonly Way[] = [
  damageBody,
  damageBody,
  damageBody,
  damageText,
  damageType,
  damagePath,
  damageQuery,
  damageHeader,
  ({ draft }, random) => ({
    draft,
    method: random.chance(0.3) ? random.pick(METHODS) : draft.operation.method,
  }),
];

/** Replaces, removes or renames one field of the body, or adds an unknown one. */
function damageBody(request: Damaged, random: Random): Damaged {
  const { body } = request.draft;
  if (!body || typeof body.value === 'string') return request;
  const value = structuredClone(body.value);
  const place = placeIn(value, random);
  if (!place) return withBody(request, random.pick(JUNK));
  const { holder, name } = place;
  switch (random.below(5)) {
    case 0:
      delete holder[name];
      break;
    case 1:
      holder[`${name}${random.pick(['s', '_', ' ', '\0', ''])}`] = holder[name];
      break;
    case 2:
      holder[random.pick(['unknown', 'id', 'tenant', 'toString', 'x'.repeat(200)])] = random.pick(JUNK);
      break;
    default:
      holder[name] = random.pick(JUNK);
  }
  return withBody(request, value);
}

interface Place {
  readonly holder: Record<string, unknown>;
  readonly name: string;
}

/** A random key of a random object or list in the value. */
function placeIn(value: unknown, random: Random): Place | undefined {
  const places: Place[] = [];
  const visit = (each: unknown): void => {
    if (typeof each !== 'object' || each === null) return;
    for (const name of Object.keys(each)) {
      places.push({ holder: each as Record<string, unknown>, name });
      visit((each as Record<string, unknown>)[name]);
    }
  };
  visit(value);
  return places.length > 0 ? random.pick(places) : undefined;
}

/** Makes the text of a JSON body truncated, doubled, with a duplicate name, deeply nested, or no JSON. */
function damageText(request: Damaged, random: Random): Damaged {
  const { body } = request.draft;
  if (!body || body.type.startsWith('multipart/')) return request;
  const text = typeof body.value === 'string' ? body.value : (JSON.stringify(body.value) ?? '');
  const damages = [
    () => text.slice(0, random.below(text.length + 1)),
    () => text + text,
    () => text.replace('{', '{"type":"x","input":1,"type":"text-to-image",'),
    () => text.replace(/"[^"]*"/, 'NaN'),
    () => `\ufeff${text}`,
    () => text.replace(/[:,]/g, (sign) => (random.chance(0.1) ? ';' : sign)),
    () => `${'['.repeat(2000)}${']'.repeat(2000)}`,
    () => '',
    () => '\0\u0001\u0002',
    () => (random.chance(0.05) ? 'x'.repeat(1_100_000) : '"x"'),
  ];
  return withBody(request, random.pick(damages)());
}

function damageType(request: Damaged, random: Random): Damaged {
  return withHeaders(request, { 'content-type': random.pick(CONTENT_TYPES) });
}

function damagePath(request: Damaged, random: Random): Damaged {
  const { draft } = request;
  const [name] = Object.keys(draft.path);
  if (name === undefined) return request;
  const values = [
    'x',
    '0',
    'job_',
    'job_1',
    `${draft.path[name]}x`,
    '\0',
    'x'.repeat(5000),
    'ü',
    '%',
    '{id}',
    '~',
  ];
  return { ...request, draft: { ...draft, path: { ...draft.path, [name]: random.pick(values) } } };
}

function damageQuery(request: Damaged, random: Random): Damaged {
  const { draft } = request;
  const known = draft.operation.parameters.filter((each) => each.in === 'query').map((each) => each.name);
  const name = random.pick([...known, ...known, 'unknown', 'limit', 'wait', '__proto__']);
  return { ...request, draft: { ...draft, query: { ...draft.query, [name]: junkText(random) } } };
}

function damageHeader(request: Damaged, random: Random): Damaged {
  // Clients cannot send values that are not valid in a header.
  return withHeaders(request, { [random.pick(HEADERS)]: junkText(random).replace(/[^\x20-\x7e]/g, '?') });
}

function junkText(random: Random): string {
  const value = random.pick(JUNK);
  return (typeof value === 'object' ? JSON.stringify(value) : String(value)).slice(0, 2000);
}

const withBody = (request: Damaged, value: unknown): Damaged => {
  const { draft } = request;
  return { ...request, draft: { ...draft, body: { type: draft.body?.type ?? 'application/json', value } } };
};
const withHeaders = (request: Damaged, headers: Record<string, string>): Damaged => {
  const { draft } = request;
  return { ...request, draft: { ...draft, headers: { ...draft.headers, ...headers } } };
};
