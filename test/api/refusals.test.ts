import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Problem, ProblemSchema } from '../../packages/shared/src/index.ts';
import { API_KEY, type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** The body of a job request as text, with these fields in its input or beside it. */
const body = (input: object, rest: object = {}): string =>
  JSON.stringify({ type: 'text-to-image', input: { prompt: 'x', ...input }, ...rest });

const REFUSED: readonly [what: string, body: string, status: number, pointers: readonly string[]][] = [
  ['width 65535', body({ width: 65535 }), 422, ['/input/width']],
  ['a width beyond the model', body({ width: 256 }), 422, ['/input/width']],
  ['a width off the grid', body({ width: 65 }), 422, ['/input/width']],
  ['too many pixels', body({ width: 128, height: 128 }), 422, ['/input/width', '/input/height']],
  ['a width with a fraction', body({ width: 64.5 }), 422, ['/input/width']],
  ['a prompt of 32,001 characters', body({ prompt: 'x'.repeat(32_001) }), 422, ['/input/prompt']],
  ['a prompt of 40,000 characters', body({ prompt: 'x'.repeat(40_000) }), 422, ['/input/prompt']],
  ['an empty prompt', body({ prompt: '' }), 422, ['/input/prompt']],
  ['no prompt', '{"type":"text-to-image","input":{}}', 422, ['/input/prompt']],
  ['a null byte in the prompt', body({ prompt: 'a\0b' }), 422, ['/input/prompt']],
  ['a null byte in a label', body({}, { metadata: { 'a\0': 'b' } }), 422, ['/metadata/a\0']],
  ['steps 0', body({ steps: 0 }), 422, ['/input/steps']],
  ['more steps than the model allows', body({ steps: 51 }), 422, ['/input/steps']],
  ['nine pictures', body({ n: 9 }), 422, ['/input/n']],
  ['more pictures than the model allows', body({ n: 5 }), 422, ['/input/n']],
  ['an unknown sampler', body({ sampler: 'magic' }), 422, ['/input/sampler']],
  ['a sampler the model lacks', body({ sampler: 'lcm' }), 422, ['/input/sampler']],
  ['a number too large for JSON', body({}).replace('"x"', '"x","guidance":1e999'), 422, ['/input/guidance']],
  ['a seed beyond 32 bits', body({ seed: 2 ** 32 }), 422, ['/input/seed']],
  ['text for a number', body({ steps: '8' }), 422, ['/input/steps']],
  ['null for a number', body({ steps: null }), 422, ['/input/steps']],
  ['an unknown field', body({ widht: 64 }), 422, ['/input/widht']],
  ['an unknown field at the top', body({}, { webhok: 1 }), 422, ['/webhok']],
  ['an unknown type', body({}, { type: 'text-to-poem' }), 422, ['/type']],
  ['an unknown priority', body({}, { priority: 'now' }), 422, ['/priority']],
  ['a deadline in the past', body({}, { deadline_s: -1 }), 422, ['/deadline_s']],
  ['an unknown model', body({}, { model: 'sd-9' }), 404, ['/model']],
  ['an unknown version', body({}, { model: 'tiny@2' }), 404, ['/model']],
  ['a path for a model', body({}, { model: '../../etc/passwd' }), 404, ['/model']],
  ['a model name with a null byte', body({}, { model: 'tiny\0' }), 404, ['/model']],
  ['several faults', body({ steps: 0, n: 0, width: 'x' }), 422, ['/input/width', '/input/steps', '/input/n']],
  ['a list', '[]', 422, ['']],
];

async function expectNothingStored(world: ApiWorld): Promise<void> {
  expect(await world.parts.redis.keys(`${world.parts.keys.prefix}:*`)).toEqual([]);
}

describe('invalid body', () => {
  test.each(REFUSED)(
    'A request with %s is refused with a pointer to the field',
    async (_, text, status, pointers) => {
      const world = await apiWorld(server.url);
      // CPU time, because the machine may be busy; the least of three, because V8 compiles in some of them.
      const times: number[] = [];
      for (let i = 0; i < 3; i++) {
        const before = process.cpuUsage();
        await (await world.ask('POST', '/v1/jobs', text)).text();
        const { user, system } = process.cpuUsage(before);
        times.push((user + system) / 1000);
      }
      expect(Math.min(...times)).toBeLessThan(50);
      const response = await world.ask('POST', '/v1/jobs', text);
      const problem = await problemOf(response);
      expect(response.status).toBe(status);
      expect(response.headers.get('content-type')).toBe('application/problem+json');
      expect(problem.errors?.map(({ pointer }) => pointer)).toEqual(pointers);
      expect(problem.status).toBe(status);
      await expectNothingStored(world);
    },
  );

  test.each([
    ['{"type":', 'The body is not JSON.'],
    ['{"type":"text-to-image","input":{"prompt":"x","width":NaN}}', 'The body is not JSON: "width" is NaN.'],
    ['', 'The body is not JSON.'],
  ])('Broken JSON is answered 400: %s', async (text, detail) => {
    const world = await apiWorld(server.url);
    const response = await world.ask('POST', '/v1/jobs', text);
    expect(response.status).toBe(400);
    expect(await problemOf(response)).toMatchObject({ type: 'urn:lehr:problem:invalid-request', detail });
    await expectNothingStored(world);
  });

  test('A refusal says what is allowed', async () => {
    const world = await apiWorld(server.url);
    const text = body({ width: 300, steps: 99, sampler: 'lcm' });
    const { detail } = await problemOf(await world.ask('POST', '/v1/jobs', text));
    expect(detail).toBe(
      'input.width is 300, must be a multiple of 8 from 16 to 128; input.steps is 99, must be at most 50; ' +
        'input.sampler is lcm, must be one of: ddim, euler, dpmpp_2m.',
    );
  });

  test('A refusal names only the first twenty of many faults', async () => {
    const world = await apiWorld(server.url);
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`field${i}`, 1]));
    const response = await world.ask('POST', '/v1/jobs', body(many));
    const problem = await problemOf(response);
    expect(problem.errors).toHaveLength(20);
    expect(problem.detail).toMatch(/; and 4980 more\.$/);
  });

  test('A nested body is refused like any other, and one of more than 64 levels before it is parsed', async () => {
    const world = await apiWorld(server.url);
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    expect((await world.ask('POST', '/v1/jobs', nested(64))).status).toBe(422);
    const label = `{"type":"text-to-image","input":{"prompt":"x"},"metadata":{"a":${nested(62)}}}`;
    const response = await world.ask('POST', '/v1/jobs', label);
    expect((await problemOf(response)).errors).toEqual([
      { pointer: '/metadata/a', detail: 'must be a string' },
    ]);
    for (const depth of [65, 500_000]) {
      const refused = await world.ask('POST', '/v1/jobs', nested(depth));
      expect([refused.status, (await problemOf(refused)).detail]).toEqual([
        400,
        'The body is nested more than 64 levels deep.',
      ]);
    }
  });

  test.each([
    ['/v1/webhooks/test', 1],
    ['/v1/jobs', 15],
  ])('A body for %s is not read beyond %i MB, with or without a content length', async (path, megabytes) => {
    const world = await apiWorld(server.url);
    const large = body({ prompt: 'x'.repeat(megabytes * 1024 * 1024) });
    const init = { headers: { 'content-length': String(large.length) } };
    expect((await world.ask('POST', path, large, init)).status).toBe(413);
    const response = await world.ask('POST', path, large);
    expect(response.status).toBe(413);
    expect(await problemOf(response)).toMatchObject({ type: 'urn:lehr:problem:too-large' });
  });

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
    'A body of type %s is answered 415',
    async (type) => {
      const world = await apiWorld(server.url);
      const response = await world.ask('POST', '/v1/jobs', body({}), { headers: { 'content-type': type } });
      expect(response.status).toBe(415);
      expect(await problemOf(response)).toMatchObject({ type: 'urn:lehr:problem:unsupported-media' });
      await expectNothingStored(world);
    },
  );
});

/** Paths that OpenAI's clients also call answer with a problem and with OpenAI's error, which agree. */
async function problemBesideError(response: Response): Promise<Problem> {
  const { error, ...rest } = (await response.json()) as { error: Record<string, unknown> };
  const problem = ProblemSchema.strict().parse(rest);
  expect(error).toMatchObject({ message: problem.detail, type: 'invalid_request_error', param: null });
  return problem;
}

describe('authentication', () => {
  test.each([
    ['no key', undefined],
    ['a wrong key', `Bearer ${API_KEY}x`],
    ['another scheme', `Basic ${Buffer.from(`admin:${API_KEY}`).toString('base64')}`],
    ['an empty key', 'Bearer '],
  ])('A request with %s is answered 401 before its body is read', async (_, authorization) => {
    const world = await apiWorld(server.url);
    const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) };
    for (const [method, path] of [
      ['POST', '/v1/jobs'],
      ['GET', '/v1/jobs'],
      ['GET', '/v1/jobs/job_01jd3v9s6w0000000000000000'],
      ['POST', '/v1/jobs/job_01jd3v9s6w0000000000000000/cancel'],
      ['DELETE', '/v1/jobs/job_01jd3v9s6w0000000000000000'],
      ['GET', '/v1/models'],
      ['GET', '/v1/queues'],
    ]) {
      const response = await world.app.request(path, {
        method,
        headers,
        ...(method === 'POST' && { body: '{' }),
      });
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="lehr"');
      const problem = await (path === '/v1/models' ? problemBesideError(response) : problemOf(response));
      expect(problem).toMatchObject({ type: 'urn:lehr:problem:unauthenticated' });
    }
  });

  test("Another tenant's job is answered exactly like an unknown one", async () => {
    const world = await apiWorld(server.url);
    const { id } = await world.post();
    const stranger = { tenant: 'stranger', scopes: new Set(['submit', 'read', 'cancel']) };
    const foreign = await apiWorld(server.url, {
      ...world.parts,
      authenticator: { authenticate: async () => stranger as never, find: async () => undefined },
    });
    const unknown = 'job_01jd3v9s6w0000000000000000';
    for (const [method, suffix] of [
      ['GET', ''],
      ['GET', '?wait=5'],
      ['POST', '/cancel'],
      ['DELETE', ''],
    ]) {
      const problems = [];
      for (const each of [id, unknown, 'job_1', '..%2f..', '%00']) {
        const response = await foreign.ask(method, `/v1/jobs/${each}${suffix}`);
        expect(response.status).toBe(404);
        const { instance, ...problem } = await problemOf(response);
        problems.push(problem);
      }
      expect(new Set(problems.map((problem) => JSON.stringify(problem))).size).toBe(1);
    }
    expect(await (await foreign.ask('GET', '/v1/jobs')).json()).toMatchObject({ data: [] });
    expect((await world.get(id)).status).toBe('queued');
  });

  test('A request without the needed scope is answered 403', async () => {
    const caller = { tenant: 'reader', scopes: new Set(['read']) };
    const world = await apiWorld(server.url, {
      authenticator: { authenticate: async () => caller as never, find: async () => undefined },
    });
    expect((await world.ask('GET', '/v1/jobs')).status).toBe(200);
    const refused = await world.ask('POST', '/v1/jobs', '{');
    expect(refused.status).toBe(403);
    expect(await problemOf(refused)).toMatchObject({ type: 'urn:lehr:problem:forbidden' });
    expect((await world.ask('GET', '/admin/queues')).status).toBe(403);
  });
});

describe('every answer', () => {
  test('Every answer has a request id: a new one, or that of the request if it is well-formed', async () => {
    const world = await apiWorld(server.url);
    const idOf = async (headers: Record<string, string>): Promise<string | null> =>
      (await world.ask('GET', '/v1/models', undefined, { headers })).headers.get('x-request-id');
    expect(await idOf({})).toMatch(/^[0-9a-f-]{36}$/);
    expect(await idOf({ 'x-request-id': 'from-the-proxy_1' })).toBe('from-the-proxy_1');
    expect(await idOf({ 'x-request-id': 'no spaces {"level":"fatal"}' })).toMatch(/^[0-9a-f-]{36}$/);
    const problem = await problemBesideError(
      await world.ask('GET', '/nowhere', undefined, { headers: { 'x-request-id': 'abc' } }),
    );
    expect(problem).toMatchObject({ instance: 'abc', type: 'urn:lehr:problem:not-found', status: 404 });
  });

  test.each(['GET', 'POST', 'DELETE'])('A path that does not exist is answered 404 (%s)', async (method) => {
    const world = await apiWorld(server.url);
    for (const path of ['/nowhere', '/v1/nowhere', '/v1/jobs/', '/docs/nowhere.js']) {
      const response = await world.ask(method, path);
      expect(response.status, path).toBe(404);
      expect(await problemBesideError(response)).toMatchObject({ type: 'urn:lehr:problem:not-found' });
    }
  });

  test('A wrong method is answered 405 with the allowed methods', async () => {
    const world = await apiWorld(server.url);
    const response = await world.ask('PUT', '/v1/jobs', {});
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')?.split(', ').sort()).toEqual(['GET', 'HEAD', 'POST']);
    expect(await problemOf(response)).toMatchObject({ type: 'urn:lehr:problem:method-not-allowed' });
    // Pages of other origins may not call the API, so a preflight gets no CORS headers.
    expect((await world.ask('OPTIONS', '/v1/jobs')).headers.has('access-control-allow-origin')).toBe(false);
  });

  test('Every answer has headers that keep browsers from sniffing and running it', async () => {
    const world = await apiWorld(server.url);
    const { headers } = await world.ask('GET', '/v1/models');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
  });

  test('An internal error is answered with its request id alone, and the log has the details', async () => {
    const lines: Record<string, unknown>[] = [];
    const log = {
      debug: () => {},
      info: () => {},
      warn: () => {},
      error: (fields: Record<string, unknown>) => lines.push(fields),
      child: () => log,
    };
    const world = await apiWorld(server.url, {
      log,
      authenticator: {
        find: async () => undefined,
        authenticate: async () => {
          throw new Error('password of the database is hunter2');
        },
      },
    });
    const response = await world.ask('GET', '/v1/jobs');
    expect(response.status).toBe(500);
    const problem = await problemOf(response);
    expect(problem.detail).toBe('Something went wrong on our side.');
    expect(lines).toMatchObject([{ requestId: problem.instance, error: { message: /hunter2/ } }]);
  });
});

test.each([
  ['/prompt', 'workflow'],
  ['/v1/chat/completions', '/v1/embeddings'],
])('A call of another product, %s, is a 404 that says what Lehr has in its place', async (path, place) => {
  const { ask } = await apiWorld(server.url);
  const response = await ask('POST', path, {});
  expect(response.status).toBe(404);
  expect((await problemOf(response)).detail).toContain(place);
});
