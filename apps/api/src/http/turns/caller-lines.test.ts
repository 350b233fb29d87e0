import type { TenantId } from '@lehr/shared';
import { expect, test } from 'vitest';
import { CallerLines } from './caller-lines.ts';

const ACME = 'acme' as TenantId;
const request = (authorization?: string, url = '/v1/jobs') => ({ url, headers: { authorization } });

test('All keys of a tenant share a line, from their first accepted request on', () => {
  const lines = new CallerLines();
  expect(lines.of(request('Bearer one'), '10.0.0.1')).toBe('address 10.0.0.1');
  lines.remember('Bearer one', ACME);
  lines.remember('Bearer two', ACME);
  expect(lines.of(request('Bearer one'), '10.0.0.1')).toBe('tenant acme');
  expect(lines.of(request('Bearer two'), '10.0.0.2')).toBe('tenant acme');
});

test('A key has one entry, however its header is written', () => {
  const lines = new CallerLines();
  lines.remember('Bearer one', ACME);
  expect(lines.of(request('bearer  one '), '10.0.0.1')).toBe('tenant acme');
  lines.forget('BEARER one');
  expect(lines.of(request('Bearer one'), '10.0.0.1')).toBe('address 10.0.0.1');
});

test('Above 10,000 keys the one that was remembered first is forgotten', () => {
  const lines = new CallerLines();
  for (let i = 0; i <= 10_000; i += 1) lines.remember(`Bearer key${i}`, ACME);
  expect(lines.of(request('Bearer key0'), '10.0.0.1')).toBe('address 10.0.0.1');
  for (const kept of ['key1', 'key10000']) {
    expect(lines.of(request(`Bearer ${kept}`), '10.0.0.1')).toBe('tenant acme');
  }
});

test('A key that is no longer accepted does not wait in the line of its tenant', () => {
  const lines = new CallerLines();
  lines.remember('Bearer one', ACME);
  lines.forget('Bearer one');
  expect(lines.of(request('Bearer one'), '10.0.0.1')).toBe('address 10.0.0.1');
});

test('Requests without a key, and those with unknown keys, share the line of their address', () => {
  const lines = new CallerLines();
  expect(lines.of(request(), '10.0.0.1')).toBe(lines.of(request('Bearer guess'), '10.0.0.1'));
  expect(lines.of(request(), '10.0.0.1')).not.toBe(lines.of(request(), '10.0.0.2'));
});

test.each([
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
  ['2001:db8::1', '2001:0db8:0:0:1:2:3:4', true],
  ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ['::1', '::2', true],
])('Of IPv6 addresses only the network counts: %s and %s', (one, two, isSame) => {
  const lines = new CallerLines();
  expect(lines.of(request(), one) === lines.of(request(), two)).toBe(isSame);
});

test('Each path of a probe has a line for each address, which a query does not change', () => {
  const lines = new CallerLines();
  expect(lines.of(request(undefined, '/healthz'), '10.0.0.1')).toBe('probe /healthz address 10.0.0.1');
  expect(lines.of(request(undefined, '/readyz?x=1'), '10.0.0.1')).toBe('probe /readyz address 10.0.0.1');
  expect(lines.of(request(undefined, '/readyz'), '10.0.0.2')).toBe('probe /readyz address 10.0.0.2');
  expect(lines.of(request(undefined, '/healthz/x'), '10.0.0.1')).toBe('address 10.0.0.1');
});
