import { expect, test } from 'vitest';
import { toObjectKey } from '../base/ids.ts';
import { checkLinkSecret, contentDisposition, objectHeaders, signLink, verifyLink } from './links.ts';

const SECRET = 'a-secret-of-at-least-32-characters';
const KEY = toObjectKey('outputs/job/1/0.png');
const NOW_MS = 1_795_000_000_000;
const EXPIRES_AT_S = NOW_MS / 1000 + 900;

const queryOf = (link: string) => new URL(link).searchParams;
const link = (filename?: string) =>
  signLink('https://lehr.example', SECRET, { key: KEY, expiresAtS: EXPIRES_AT_S, filename });

test('A link has the documented form, also below a public URL with a path', () => {
  expect(link('a.png')).toMatch(
    /^https:\/\/lehr\.example\/objects\/outputs\/job\/1\/0\.png\?expires=1795000900&name=a\.png&sig=[\w-]{43}$/,
  );
  expect(signLink('https://lehr.example/lehr', SECRET, { key: KEY, expiresAtS: 1 })).toMatch(
    /^https:\/\/lehr\.example\/lehr\/objects\/outputs/,
  );
});

test('A fresh link is valid for its key and carries its file name', () => {
  expect(verifyLink(SECRET, KEY, queryOf(link('café "1".png')), NOW_MS)).toEqual({
    outcome: 'ok',
    key: KEY,
    expiresAtS: EXPIRES_AT_S,
    filename: 'café "1".png',
  });
  expect(verifyLink(SECRET, KEY, queryOf(link()), NOW_MS)).toMatchObject({ outcome: 'ok' });
});

test('A link expires at the second it names', () => {
  const query = queryOf(link());
  expect(verifyLink(SECRET, KEY, query, EXPIRES_AT_S * 1000 - 1).outcome).toBe('ok');
  expect(verifyLink(SECRET, KEY, query, EXPIRES_AT_S * 1000)).toEqual({ outcome: 'expired' });
});

test('An expired link that was also changed is invalid, not expired', () => {
  const query = queryOf(link());
  query.set('expires', '1');
  expect(verifyLink(SECRET, KEY, query, NOW_MS)).toEqual({ outcome: 'invalid' });
});

test.each([
  ['another key', 'outputs/job/1/1.png', (query: URLSearchParams) => query],
  ['a key that leads upwards', '../outputs/job/1/0.png', (query: URLSearchParams) => query],
  ['a later expiry', KEY, (query: URLSearchParams) => set(query, 'expires', '1795009999')],
  ['an expiry that is no number', KEY, (query: URLSearchParams) => set(query, 'expires', '1e99')],
  [
    'the same expiry spelled differently',
    KEY,
    (query: URLSearchParams) => set(query, 'expires', '01795000900'),
  ],
  ['another file name', KEY, (query: URLSearchParams) => set(query, 'name', 'b.png')],
  ['no signature', KEY, (query: URLSearchParams) => without(query, 'sig')],
  ['no expiry', KEY, (query: URLSearchParams) => without(query, 'expires')],
  ['no file name', KEY, (query: URLSearchParams) => without(query, 'name')],
  ['a short signature', KEY, (query: URLSearchParams) => set(query, 'sig', 'AAAA')],
  ['a padded signature', KEY, (query: URLSearchParams) => set(query, 'sig', `${query.get('sig')}=`)],
  ['a second expiry', KEY, (query: URLSearchParams) => twice(query, 'expires', '1')],
])('A link with %s is invalid', (_, key, change) => {
  expect(verifyLink(SECRET, key, change(queryOf(link('a.png'))), NOW_MS)).toEqual({ outcome: 'invalid' });
});

test('A link signed with another secret is invalid', () => {
  expect(verifyLink(`${SECRET}!`, KEY, queryOf(link()), NOW_MS)).toEqual({ outcome: 'invalid' });
});

test('A signature that decodes to the same bytes but is spelled differently is refused', () => {
  const query = queryOf(link());
  const given = query.get('sig') ?? '';
  const bytes = Buffer.from(given, 'base64url');
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const sameBytes = [...alphabet]
    .map((last) => given.slice(0, -1) + last)
    .filter((text) => text !== given && Buffer.from(text, 'base64url').equals(bytes));
  expect(sameBytes.length).toBeGreaterThan(0);
  for (const signature of sameBytes) {
    query.set('sig', signature);
    expect(verifyLink(SECRET, KEY, query, NOW_MS)).toEqual({ outcome: 'invalid' });
  }
});

test('A secret shorter than 32 characters is refused without being shown', () => {
  expect(() => checkLinkSecret('too-short')).toThrow(/has 9 characters/);
  expect(() => checkLinkSecret(SECRET)).not.toThrow();
});

test('Any file name is kept in Content-Disposition and cannot break out of the header', () => {
  expect(contentDisposition('a.png')).toBe(`attachment; filename="a.png"; filename*=UTF-8''a.png`);
  expect(contentDisposition(`é "x"'(1)*.png`)).toBe(
    `attachment; filename="_ _x__(1)_.png"; filename*=UTF-8''%C3%A9%20%22x%22%27%281%29%2A.png`,
  );
  expect(contentDisposition('a\r\nset-cookie: b')).toMatch(/^[\x20-\x7e]*$/);
  expect(contentDisposition('\ud800')).toContain("UTF-8''%EF%BF%BD");
});

test('The headers of an object forbid browsers to guess its type, run it or cache it for others', () => {
  const object = { key: KEY, bytes: 3, contentType: 'text/html', sha256: 'ab'.repeat(32) };
  expect(objectHeaders(object, undefined)).toEqual({
    'content-type': 'text/html',
    'content-length': '3',
    etag: `"${'ab'.repeat(32)}"`,
    'cache-control': 'private',
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
  });
  expect(objectHeaders(object, 'a.html')['content-disposition']).toContain('filename="a.html"');
});

function set(query: URLSearchParams, name: string, value: string): URLSearchParams {
  query.set(name, value);
  return query;
}

function without(query: URLSearchParams, name: string): URLSearchParams {
  query.delete(name);
  return query;
}

function twice(query: URLSearchParams, name: string, value: string): URLSearchParams {
  query.append(name, value);
  return query;
}
