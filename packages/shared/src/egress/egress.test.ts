import { createSocket } from 'node:dgram';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, Socket } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { MALFORMED_URLS, PRIVATE_URLS } from '../../../../test/support/private-urls.ts';
import { createEgress, type Egress, parseAllowList, systemResolve } from './index.ts';

const limits = { timeoutMs: 5000, maxAnswerBytes: 64 * 1024, body: Buffer.from('{}') };

/** A server on one loopback address; `connections` counts its connections. */
async function serve(
  listener: RequestListener,
): Promise<{ url: string; port: number; connections: () => number }> {
  const server = createServer(listener);
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, connections: () => connections };
}

/** Records every connection that is tried from now on, as `address:port`. */
function watchConnects(): string[] {
  const tried: string[] = [];
  const connect = Socket.prototype.connect;
  const spy = vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, ...args) {
    this.once('lookup', (_error, address) => tried.push(String(address)));
    const [options] = args.flat() as { host?: string; port?: number }[];
    tried.push(`${options.host}:${options.port}`);
    return Reflect.apply(connect, this, args);
  });
  onTestFinished(() => spy.mockRestore());
  return tried;
}

const open = (): Egress => createEgress({ allow: parseAllowList('*') });

describe('no connection is made', () => {
  test('No connection is made to an inner address in any spelling, or to a URL that is not plain https', async () => {
    const server = await serve((_, response) => response.end());
    const tried = watchConnects();
    const asked: string[] = [];
    const egress = createEgress({
      resolve: async (name) => {
        asked.push(name);
        return ['127.0.0.1'];
      },
    });
    const here = new URL(server.url).port;
    for (const url of [...PRIVATE_URLS, ...MALFORMED_URLS, server.url, `https://127.0.0.1:${here}/`]) {
      await expect(egress.post(url, limits), url).rejects.toMatchObject({ fault: 'refused' });
      await expect(egress.get(url, { ...limits, maxBytes: 10 }), url).rejects.toMatchObject({
        fault: 'refused',
      });
      expect(() => egress.check(url), url).toThrow(
        'Lehr does not connect to this address; LEHR_EGRESS_ALLOW',
      );
    }
    expect([tried, asked, server.connections()]).toEqual([[], [], 0]);
  });

  test('No connection is made to a name with one inner address among public ones, an unknown name or a name whose lookup fails', async () => {
    const tried = watchConnects();
    const answers: Record<string, () => Promise<string[]>> = {
      'mixed.example': async () => ['93.184.215.14', '127.0.0.1'],
      'meta.example': async () => ['169.254.169.254'],
      'mapped.example': async () => ['::ffff:10.0.0.1'],
      'unknown.example': async () => [],
      'broken.example': () => Promise.reject(new Error('ESERVFAIL')),
    };
    const egress = createEgress({ resolve: (name) => answers[name]() });
    for (const name of Object.keys(answers)) {
      const failure = await egress.post(`https://${name}/`, limits).catch((error: Error) => error);
      expect(failure, name).toMatchObject({
        fault: 'refused',
        message: expect.stringContaining('Lehr does not connect to this address; LEHR_EGRESS_ALLOW'),
      });
    }
    expect(tried).toEqual([]);
  });

  test('No connection is made to the new address of a name that changed after its check', async () => {
    const server = await serve((_, response) => response.end());
    const tried = watchConnects();
    const answers = [['127.0.0.1'], ['10.0.0.1']];
    const egress = createEgress({
      allow: parseAllowList('127.0.0.1'),
      resolve: async () => answers.shift() ?? [],
    });
    // TLS against a plain server fails, but the recorded addresses show where it was tried.
    const url = `https://rebind.example:${server.port}/`;
    await expect(egress.post(url, limits)).rejects.toMatchObject({ fault: 'unreachable' });
    await expect(egress.post(url, limits)).rejects.toMatchObject({ fault: 'refused' });
    expect(tried).toEqual([`rebind.example:${server.port}`, '127.0.0.1']);
    expect(server.connections()).toBe(1);
  });

  test.each(['http://169.254.169.254/latest/meta-data/', 'http://127.0.0.1:1/', '/elsewhere'])(
    'No connection is made to the target of a redirect: %s',
    async (location) => {
      const server = await serve((_, response) => response.writeHead(302, { location }).end('moved'));
      const tried = watchConnects();
      const { status, headers } = await open().post(server.url, limits);
      expect([status, headers.location]).toEqual([302, location]);
      expect((await open().get(server.url, { ...limits, maxBytes: 10 })).status).toBe(302);
      expect(tried).toEqual(Array(2).fill(`127.0.0.1:${server.port}`));
    },
  );

  test('No connection is made to a proxy from the environment', async () => {
    const proxy = await serve((_, response) => response.end('proxy'));
    const server = await serve((_, response) => response.end('direct'));
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY']) vi.stubEnv(name, proxy.url);
    vi.stubEnv('NODE_USE_ENV_PROXY', '1');
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    expect((await open().post(server.url, limits)).body.toString()).toBe('direct');
    expect(proxy.connections()).toBe(0);
  });
});

describe('a request', () => {
  test('A request has exactly the given body and headers and the host of its URL', async () => {
    const seen: unknown[] = [];
    const server = await serve((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        seen.push({
          method: request.method,
          path: request.url,
          headers: request.headers,
          body: Buffer.concat(chunks).toString(),
        });
        response.writeHead(201, { 'x-own': 'yes' }).end('thanks');
      });
    });
    const egress = createEgress({ allow: parseAllowList('*'), resolve: async () => ['127.0.0.1'] });
    const body = Buffer.from('{"prompt":"ein Kännchen \\ud83e\\uded6 ☕"}');
    const answer = await egress.post(`http://hooks.example:${server.port}/a?b=c#d`, {
      ...limits,
      body,
      headers: { 'content-type': 'application/json', 'webhook-id': 'msg_1' },
    });
    expect(answer).toMatchObject({ status: 201, headers: { 'x-own': 'yes' }, body: Buffer.from('thanks') });
    expect(seen).toEqual([
      {
        method: 'POST',
        path: '/a?b=c',
        headers: {
          host: `hooks.example:${server.port}`,
          'user-agent': 'lehr/1',
          'accept-encoding': 'identity',
          'content-type': 'application/json',
          'webhook-id': 'msg_1',
          'content-length': String(body.byteLength),
          connection: 'close',
        },
        body: body.toString(),
      },
    ]);
  });

  test('A request names the host in TLS, not its address', async () => {
    const server = createTcpServer();
    const hello = new Promise<string>((resolve) => {
      server.once('connection', (socket) => {
        socket.once('data', (bytes) => {
          resolve(bytes.toString('latin1'));
          socket.destroy();
        });
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const egress = createEgress({ allow: parseAllowList('*'), resolve: async () => ['127.0.0.1'] });
    await expect(egress.post(`https://hooks.example:${port}/`, limits)).rejects.toMatchObject({
      fault: 'unreachable',
    });
    expect(await hello).toContain('hooks.example');
  });

  test('A request uses the next checked address when one does not answer', async () => {
    const server = await serve((_, response) => response.end('here'));
    const egress = createEgress({
      allow: parseAllowList('*'),
      resolve: async () => ['127.0.0.9', '127.0.0.1'],
    });
    const answer = await egress.post(`http://hooks.example:${server.port}/`, limits);
    expect(answer.body.toString()).toBe('here');
  });

  test('A POST reads no more of an answer than allowed', async () => {
    const server = await serve((_, response) => response.end(Buffer.alloc(1_000_000, 'a')));
    const { status, body } = await open().post(server.url, { ...limits, maxAnswerBytes: 1000 });
    expect([status, body.byteLength]).toEqual([200, 1000]);
  });

  test('A GET streams the body and rejects when it is too large', async () => {
    const server = await serve((_, response) => response.end(Buffer.alloc(300_000, 'a')));
    const read = async (maxBytes: number): Promise<number> => {
      let bytes = 0;
      const { body } = await open().get(server.url, { timeoutMs: 5000, maxBytes });
      for await (const chunk of body) bytes += chunk.byteLength;
      return bytes;
    };
    expect(await read(300_000)).toBe(300_000);
    await expect(read(299_999)).rejects.toMatchObject({ fault: 'too-large' });
  });

  test.each([
    ['sends nothing', () => {}],
    ['stops within its headers', (_, response) => response.socket?.write('HTTP/1.1 200 OK\r\nx: ')],
    ['stops within its body', (_, response) => response.writeHead(200).write('a')],
    [
      'sends one byte at a time',
      (_, response) => {
        const drip = setInterval(() => response.write('a'), 20);
        response.once('close', () => clearInterval(drip));
      },
    ],
  ] satisfies [string, RequestListener][])(
    'A request times out when the receiver %s',
    async (_, listener) => {
      const server = await serve(listener);
      const startedAt = performance.now();
      await expect(open().post(server.url, { ...limits, timeoutMs: 200 })).rejects.toMatchObject({
        fault: 'timeout',
      });
      const reading = async (): Promise<void> => {
        const { body } = await open().get(server.url, { timeoutMs: 200, maxBytes: 1000 });
        for await (const chunk of body) expect(chunk.byteLength).toBeGreaterThan(0);
      };
      await expect(reading()).rejects.toMatchObject({ fault: 'timeout' });
      expect(performance.now() - startedAt).toBeLessThan(20_000);
    },
  );

  test('A request times out when the name server does not answer', async () => {
    const egress = createEgress({ resolve: () => new Promise(() => {}) });
    const asked = egress.post('https://hooks.example/', { ...limits, timeoutMs: 100 });
    await expect(asked).rejects.toMatchObject({ fault: 'timeout' });
  });

  test.each([
    ['closes the connection', (_, response) => response.socket?.destroy()],
    [
      'closes the connection within its body',
      (_, response) => {
        response.writeHead(200, { 'content-length': 100 }).write('a', () => response.socket?.destroy());
      },
    ],
    ['speaks another protocol', (_, response) => response.socket?.end('220 smtp ready\r\n')],
    [
      'changes the protocol',
      (_, response) => {
        response.socket?.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n');
      },
    ],
    [
      'sends endless headers',
      (_, response) => response.socket?.write(`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(1e6)}`),
    ],
  ] satisfies [string, RequestListener][])(
    'A request is unreachable when the receiver %s',
    async (_, listener) => {
      const server = await serve(listener);
      await expect(open().post(server.url, limits)).rejects.toMatchObject({ fault: 'unreachable' });
    },
  );

  test('A request ends with the reason of its signal when the signal aborts', async () => {
    const server = await serve(() => {});
    const stop = new AbortController();
    const asked = open().post(server.url, { ...limits, signal: stop.signal });
    await expect.poll(server.connections).toBe(1);
    const reason = new Error('enough');
    stop.abort(reason);
    await expect(asked).rejects.toBe(reason);
    await expect(open().get(server.url, { ...limits, maxBytes: 1, signal: stop.signal })).rejects.toBe(
      reason,
    );
  });
});

describe('names', () => {
  /** A name server that answers one IPv4 address for every name, or does not answer. */
  async function nameServer(address: string | undefined): Promise<string> {
    const socket = createSocket('udp4');
    socket.on('message', (query, { port, address: from }) => {
      if (address === undefined) return;
      const isA = query.readUInt16BE(query.indexOf(0, 12) + 1) === 1;
      const header = Buffer.from([query[0], query[1], 0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0]);
      const question = query.subarray(12, query.indexOf(0, 12) + 5);
      const record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)];
      socket.send(Buffer.concat([header, question, Buffer.from(isA ? record : [])]), port, from);
    });
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      socket.close();
    });
    return `127.0.0.1:${socket.address().port}`;
  }

  test('Names are resolved by the name servers, and one address family is enough', async () => {
    const resolve = systemResolve([await nameServer('93.184.215.14')]);
    const { signal } = new AbortController();
    expect(await resolve('hooks.example', false, signal)).toEqual(['93.184.215.14']);
  });

  test('A name with an inner address is refused', async () => {
    const egress = createEgress({ resolve: systemResolve([await nameServer('10.0.0.1')]) });
    await expect(egress.post('https://hooks.example/', limits)).rejects.toMatchObject({ fault: 'refused' });
  });

  test('Names whose server does not answer delay no other request', async () => {
    const silent = createEgress({ resolve: systemResolve([await nameServer(undefined)]) });
    const server = await serve((_, response) => response.end());
    const stuck = Array.from({ length: 20 }, () =>
      silent.post('https://hooks.example/', { ...limits, timeoutMs: 5000 }),
    );
    let settled = 0;
    const outcomes = Promise.allSettled(stuck.map((each) => each.finally(() => settled++)));
    await open().post(`http://localhost:${server.port}/`, limits);
    expect(settled).toBe(0);
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ reason: { fault: 'timeout' } });
  });

  test('A trusted name may come from /etc/hosts', async () => {
    const { signal } = new AbortController();
    expect(await systemResolve()('localhost', true, signal)).toContain('127.0.0.1');
  });
});
