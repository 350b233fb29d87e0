import { expect, test } from 'vitest';
import { errorOf } from './lehr-error.ts';

const json = (body: unknown) => JSON.stringify(body);

test('A problem document becomes a LehrError with all of its fields', async () => {
  const problem = {
    type: 'urn:lehr:problem:model-not-found',
    title: 'Model not found',
    status: 404,
    detail: 'There is no such model.',
    instance: 'r1',
    errors: [{ pointer: '/model', detail: 'is not on offer' }],
  };
  const error = await errorOf(
    new Response(json(problem), { status: 404, headers: { 'x-request-id': 'r1' } }),
  );
  expect(error).toMatchObject({
    code: 'model-not-found',
    message: 'There is no such model.',
    title: 'Model not found',
    status: 404,
    requestId: 'r1',
    problems: problem.errors,
    retryable: false,
  });
});

test.each([
  [
    429,
    json({ error: { message: 'Too fast.', code: 'rate_limit_exceeded' } }),
    'rate-limited',
    'Too fast.',
    true,
  ],
  [502, '<html><h1>Bad Gateway</h1></html>', 'unavailable', 'The server answered 502', true],
  [404, 'no such page', 'not-found', 'no such page', false],
  [418, '', 'bad-answer', 'The server answered 418', false],
  [500, json('a string'), 'internal', 'The server answered 500', true],
])(
  'An answer with the status %i and the body %j becomes a LehrError',
  async (status, body, code, message, retryable) => {
    expect(await errorOf(new Response(body, { status }))).toMatchObject({
      code,
      message,
      retryable,
      problems: [],
    });
  },
);

test.each([
  ['2', 2000],
  ['0.5', 500],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ['soon', undefined],
])('The header Retry-After: %s means %s ms', async (value, ms) => {
  const response = new Response('', { status: 503, headers: { 'retry-after': value } });
  expect((await errorOf(response)).retryAfterMs).toBe(ms);
});

test('An answer whose body breaks off becomes a LehrError by its status', async () => {
  const broken = new ReadableStream({ start: (controller) => controller.error(new Error('cut')) });
  expect(await errorOf(new Response(broken, { status: 503 }))).toMatchObject({
    code: 'unavailable',
    status: 503,
  });
});
