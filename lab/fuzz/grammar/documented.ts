/** Almost valid requests for every route of the OpenAPI document, in every dialect. */
import fc from 'fast-check';
import { type Damaged, damaged } from '../../../test/support/mutations.ts';
import { draftOf, type OpenApiDocument, operationsOf, requestOf } from '../../../test/support/openapi.ts';
import { Random } from '../../../test/support/random.ts';
import type { FuzzRequest, Piece } from '../request.ts';
import { BEARER, delivery, headOf, text } from './pieces.ts';

const BOUNDARY = 'documented';
/** The longest hold that a request asks for, so that its answer comes before the deadline of the fuzzer. */
const MAX_HOLD_S = 1;

/** Values of things that exist, by path up to its parameter. */
const KNOWN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '/v1/jobs/{id}': { id: '__job__' },
  '/v1/predictions/{id}': { id: '__prediction__' },
  '/v1/files/{id}': { id: '__file__' },
  '/v1/keys/{id}': { id: '__spare_key__' },
  '/v1/models/{id}': { id: 'tiny' },
  '/v1/models/{owner}/{name}': { owner: 'lehr', name: 'tiny' },
};
/** Signed links, with their query. */
const SIGNED: Readonly<Record<string, string>> = {
  '/objects/{key}': '__object_link__',
  '/events/{id}': '__events_link__',
  '/streams/{id}': '__stream_link__',
};

/** `seed` chooses values and faults. It does not shrink: a batch shrinks by leaving out whole requests. */
export function documentedRequest(document: OpenApiDocument): fc.Arbitrary<FuzzRequest> {
  const operations = operationsOf(document);
  return fc
    .record({
      operation: fc.constantFrom(...operations),
      seed: fc.noShrink(fc.integer({ min: 0, max: 0x7fffffff })),
      isDamaged: fc.boolean(),
      keeps: fc.boolean(),
      how: delivery,
    })
    .map(({ operation, seed, isDamaged, keeps, how }) => {
      const random = new Random(seed);
      const given = KNOWN[operation.path.slice(0, operation.path.lastIndexOf('}') + 1)];
      const draft = draftOf(document, operation, random, given);
      const request = isDamaged ? damaged(draft, random) : { method: operation.method, draft };
      return wireRequest(request, keeps ? SIGNED[operation.path] : undefined, how);
    });
}

function wireRequest(
  { method, draft }: Damaged,
  link: string | undefined,
  how: Pick<FuzzRequest, 'framing' | 'sent' | 'writes' | 'end'>,
): FuzzRequest {
  const [url, init] = requestOf(draft);
  const headers = Object.entries(init.headers as Record<string, string>);
  const { content, type } = bodyOf(draft.body?.value, draft.body?.type, init.body);
  const auth = url.startsWith('/v1/keys') ? 'authorization: Bearer __admin__' : BEARER;
  const lines = [
    auth,
    ...(type && !headers.some(([name]) => name === 'content-type') ? [`content-type: ${type}`] : []),
    ...headers.map(([name, value]) => `${name}: ${name === 'prefer' ? shortHold(value) : value}`),
  ];
  const target = link ?? shortHold(url);
  const framing = content.length === 0 ? 'none' : how.framing;
  return { ...how, kind: draft.operation.name, head: headOf(method, target, lines), body: content, framing };
}

/** Values above the limit of the fuzzer, in `?wait=60` and `Prefer: wait=60`. */
const shortHold = (value: string): string =>
  value.replace(/\bwait=(\d+)/g, (all, seconds: string) =>
    Number(seconds) > MAX_HOLD_S && Number(seconds) <= 60 ? `wait=${MAX_HOLD_S}` : all,
  );

function bodyOf(
  value: unknown,
  type: string | undefined,
  sent: RequestInit['body'],
): { readonly content: readonly Piece[]; readonly type?: string } {
  if (type?.startsWith('multipart/')) {
    return { content: formOf(value), type: `multipart/form-data; boundary=${BOUNDARY}` };
  }
  return typeof sent === 'string' && sent !== '' ? { content: [text(sent)] } : { content: [] };
}

function formOf(value: unknown): Piece[] {
  const fields = Object.entries(Object(value) as Record<string, unknown>).flatMap(([name, field]) =>
    [field].flat().map((each) => [name, typeof each === 'object' ? JSON.stringify(each) : String(each)]),
  );
  const parts = fields.map(([name, field]) => {
    const file = name === 'file' || name === 'content' ? '; filename="a.wav"' : '';
    return `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${field}\r\n`;
  });
  return [text(`${parts.join('')}--${BOUNDARY}--\r\n`)];
}
