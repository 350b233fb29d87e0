import { describe, expect, test } from 'vitest';
import { MALFORMED_URLS, PRIVATE_URLS } from '../../../../test/support/private-urls.ts';
import { parseAllowList } from './addresses.ts';
import { EgressError, Guard } from './guard.ts';

const guardOf = (allow = ''): Guard => new Guard(parseAllowList(allow));

/** Undefined when a connection would be made to these addresses. */
function faultOf(guard: Guard, url: string, addresses: readonly string[] = []): string | undefined {
  try {
    const target = guard.target(url);
    guard.check(target, target.literal ? [target.host] : addresses);
    return undefined;
  } catch (error) {
    if (error instanceof EgressError) return error.message;
    throw error;
  }
}

const REFUSED = new EgressError('refused').message;
const PUBLIC = ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'];

describe('refused URLs', () => {
  test.each(PRIVATE_URLS)('A URL that points to an inner address is refused: %s', (url) => {
    expect(faultOf(guardOf(), url, PUBLIC)).toBe(REFUSED);
  });

  test.each(MALFORMED_URLS)('A URL that is not plain https is refused: %s', (url) => {
    expect(faultOf(guardOf(), url, PUBLIC)).toBe(REFUSED);
  });

  test.each([
    [['127.0.0.1']],
    [[...PUBLIC, '10.0.0.1']],
    [['169.254.169.254', ...PUBLIC]],
    [['::ffff:10.0.0.1']],
    [['fe80::1%eth0']],
    [['93.184.215.14\0']],
    [['example.com']],
    [[]],
  ])('A URL whose name resolves to %j is refused', (addresses) => {
    expect(faultOf(guardOf(), 'https://hooks.example/', addresses)).toBe(REFUSED);
  });
});

test.each([
  'https://hooks.example/a?b=c',
  'https://hooks.example:443/',
  'https://93.184.215.14/',
  'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/',
])('A URL with a public address is allowed: %s', (url) => {
  expect(faultOf(guardOf(), url, PUBLIC)).toBeUndefined();
});

describe('the allow-list', () => {
  test('The allow-list allows plain http to this machine, and to no other', () => {
    const guard = guardOf('127.0.0.0/8, ::1, localhost, 10.1.0.0/16, hooks.internal');
    for (const url of ['http://127.0.0.1:9000/hook', 'http://[::1]:9000/', 'http://localhost:9000/']) {
      expect(faultOf(guard, url, ['127.0.0.1']), url).toBeUndefined();
      expect(faultOf(guardOf(), url, ['127.0.0.1']), url).toBe(REFUSED);
    }
    for (const url of ['http://10.1.2.3/', 'http://hooks.internal/', 'http://hooks.example/']) {
      expect(faultOf(guard, url, ['10.1.2.3']), url).toBe(REFUSED);
    }
    expect(REFUSED).toContain('LEHR_EGRESS_ALLOW');
  });

  test('The allow-list allows its private ranges and hosts on any port', () => {
    const guard = guardOf('10.1.0.0/16, fd12::/48, hooks.internal, 127.0.0.9');
    for (const url of ['https://10.1.2.3:8443/', 'https://[fd12::5]/', 'https://127.0.0.9:9/']) {
      expect(faultOf(guard, url), url).toBeUndefined();
    }
    expect(faultOf(guard, 'https://hooks.internal:8443/', ['192.168.3.4'])).toBeUndefined();
    expect(faultOf(guard, 'https://Hooks.Internal./', ['192.168.3.4'])).toBeUndefined();
    expect(faultOf(guard, 'https://other.example:8443/', ['10.1.9.9'])).toBeUndefined();
  });

  test('The allow-list allows no other private address', () => {
    const guard = guardOf('10.1.0.0/16,hooks.internal');
    expect(faultOf(guard, 'https://10.2.0.1/')).toBe(REFUSED);
    expect(faultOf(guard, 'https://x.hooks.internal/', ['192.168.3.4'])).toBe(REFUSED);
    expect(faultOf(guard, 'https://other.example/', ['10.1.9.9', '10.2.0.1'])).toBe(REFUSED);
    expect(faultOf(guard, 'https://other.example:8443/', PUBLIC)).toBe(REFUSED);
    expect(faultOf(guard, 'http://hooks.internal/', ['192.168.3.4'])).toBe(REFUSED);
  });

  test('The allow-list never covers a link-local or metadata address, in any spelling', () => {
    const guard = guardOf('0.0.0.0/0,::/0,metadata.google.internal');
    expect(faultOf(guard, 'https://127.0.0.1/')).toBeUndefined();
    for (const address of [
      '169.254.169.254',
      '168.63.129.16',
      '100.100.100.200',
      '192.0.0.192',
      '0.0.0.0',
      'fd00:ec2::254',
      'fe80::1',
      '::ffff:169.254.169.254',
      '64:ff9b::a9fe:a9fe',
      '2002:a9fe:a9fe::',
    ]) {
      expect(faultOf(guard, 'https://metadata.google.internal/', [address]), address).toBe(REFUSED);
    }
  });

  test.each(['10.0.0.0/33', '10.1', 'https://hooks.internal', 'a b', '*.internal', 'hooks.internal:8443'])(
    'An allow-list entry that is no range, address or host name is refused: %s',
    (entry) => {
      expect(() => parseAllowList(`10.1.0.0/16,${entry}`)).toThrow(`"${entry}"`);
    },
  );
});

describe('the entry for tests and development', () => {
  test('The entry * allows loopback, private ranges, any port and plain http', () => {
    const guard = guardOf('*');
    for (const url of ['http://127.0.0.1:5000/', 'https://10.0.0.1/', 'http://[::1]:80/']) {
      expect(faultOf(guard, url), url).toBeUndefined();
    }
    expect(faultOf(guard, 'http://localhost:5000/', ['::1', '127.0.0.1'])).toBeUndefined();
  });

  test.each([
    'http://169.254.169.254/',
    'http://[fe80::1]/',
    'http://[::ffff:a9fe:a9fe]/',
    'http://0.0.0.0/',
  ])('The entry * does not allow %s', (url) => {
    expect(faultOf(guardOf('*'), url)).toBe(REFUSED);
  });

  test('The entry * still requires an http URL without a user name', () => {
    expect(faultOf(guardOf('*'), 'http://me@127.0.0.1/')).toBe(REFUSED);
    expect(faultOf(guardOf('*'), 'ftp://127.0.0.1/')).toBe(REFUSED);
  });
});
