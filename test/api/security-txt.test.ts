import { afterAll, beforeAll, expect, test } from 'vitest';
import { envSchema, readConfig, systemClock } from '../../packages/shared/src/index.ts';
import { apiWorld, PUBLIC_URL } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const PATH = '/.well-known/security.txt';
const DAY_MS = 24 * 3_600_000;

test('security.txt has the contacts of the installation, and never expires within a month', async () => {
  const securityContacts = ['mailto:security@example.com', 'https://example.com/report'];
  const world = await apiWorld(server.url, { securityContacts });
  const response = await world.app.request(PATH);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  const fields = (await response.text())
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/: (.*)/, 2));
  expect(fields.map(([name]) => name)).toEqual([
    'Contact',
    'Contact',
    'Expires',
    'Preferred-Languages',
    'Canonical',
  ]);
  expect(fields.slice(0, 2).map(([, value]) => value)).toEqual(securityContacts);
  expect(fields[4][1]).toBe(`${PUBLIC_URL}${PATH}`);
  const validMs = Date.parse(fields[2][1]) - systemClock.now();
  expect(validMs).toBeGreaterThan(30 * DAY_MS);
  expect(validMs).toBeLessThan(365 * DAY_MS);
});

test('Without LEHR_SECURITY_CONTACT, security.txt does not exist', async () => {
  const world = await apiWorld(server.url);
  expect((await world.app.request(PATH)).status).toBe(404);
});

test('LEHR_SECURITY_CONTACT takes addresses with a scheme only', () => {
  const read = (text: string) =>
    readConfig(envSchema('LEHR_SECURITY_CONTACT'), { LEHR_SECURITY_CONTACT: text }).LEHR_SECURITY_CONTACT;
  expect(read('')).toEqual([]);
  expect(read('mailto:a@example.com, https://example.com/report')).toEqual([
    'mailto:a@example.com',
    'https://example.com/report',
  ]);
  for (const text of [
    'a@example.com',
    'http://example.com',
    'mailto:',
    'https://x y',
    'mailto:a@b.c\nExpires: x',
  ])
    expect(() => read(text), text).toThrow('must be addresses like mailto:security@example.com');
});
