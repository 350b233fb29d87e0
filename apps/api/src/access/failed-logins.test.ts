import { expect, test } from 'vitest';
import { FailedLogins } from './failed-logins.ts';

test('After ten failures in a minute an address is refused, until a minute after the first one', () => {
  let now = 0;
  const logins = new FailedLogins({ monotonic: () => now });
  for (let i = 0; i < 10; i++) {
    logins.attempt('192.0.2.1');
    now += 1000;
  }
  expect(() => logins.attempt('192.0.2.1')).toThrow('This address has sent 10 wrong passwords in a minute.');
  logins.attempt('192.0.2.2');
  now = 59_999;
  expect(() => logins.attempt('192.0.2.1')).toThrow();
  now = 60_000;
  logins.attempt('192.0.2.1');
});

test('Attempts that succeed do not count', () => {
  const logins = new FailedLogins({ monotonic: () => 0 });
  for (let i = 0; i < 100; i++) {
    logins.attempt('192.0.2.1');
    logins.succeeded('192.0.2.1');
  }
  expect(logins.size).toBe(0);
});

test('The failures of many addresses take bounded memory', () => {
  const logins = new FailedLogins({ monotonic: () => 0 });
  for (let i = 0; i < 30_000; i++) logins.attempt(`2001:db8::${i.toString(16)}`);
  expect(logins.size).toBe(10_000);
});
