/** The most urgent class that a key may use. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiWorld, jobOf, problemOf } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const drawing = { type: 'text-to-image', input: { prompt: 'a circle' } };
const workflow = { type: 'workflow', nodes: [{ id: 'draw', ...drawing }] };

test.each([
  ['interactive', ['interactive', 'standard', 'bulk']],
  ['standard', ['standard', 'bulk']],
  ['bulk', ['bulk']],
] as const)(
  'A key with max_priority %s may make jobs and workflows of %j only',
  async (max_priority, allowed) => {
    const world = await apiWorld(server.url);
    const { ask } = await keyHolder(world, 'acme', { limits: { max_priority } });
    for (const body of [drawing, workflow]) {
      for (const priority of ['interactive', 'standard', 'bulk'] as const) {
        const answer = await ask('POST', '/v1/jobs', { ...body, priority });
        if ((allowed as readonly string[]).includes(priority)) {
          expect(await jobOf(answer)).toMatchObject({ status: 'queued', priority });
          continue;
        }
        expect(answer.status).toBe(422);
        expect((await problemOf(answer)).errors).toEqual([
          { pointer: '/priority', detail: `must be one of: ${allowed.join(', ')}, which this key allows` },
        ]);
      }
    }
  },
);

test('A job that names no class gets standard, or the limit of its key if that is less urgent', async () => {
  const world = await apiWorld(server.url);
  const classOf = async (max_priority?: 'interactive' | 'bulk') => {
    const limits = max_priority && { max_priority };
    const { ask } = await keyHolder(world, 'acme', { limits });
    const native = await jobOf(await ask('POST', '/v1/jobs', drawing));
    // A dialect has no field for the class.
    const { id } = (await (
      await ask('POST', '/v1/models/lehr/tiny/predictions', { input: { prompt: 'a circle' } })
    ).json()) as { id: string };
    const other = await jobOf(await ask('GET', `/v1/jobs/job_${id}`));
    return [native.priority, other.priority];
  };
  expect(await classOf()).toEqual(['standard', 'standard']);
  expect(await classOf('interactive')).toEqual(['standard', 'standard']);
  expect(await classOf('bulk')).toEqual(['bulk', 'bulk']);
});
