import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { workerWorld } from '../support/worker-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const PROMPT = 'a purple otter under a bridge';

/** The log of a worker that draws one picture. */
async function linesOf(env: Record<string, string>): Promise<readonly object[]> {
  const world = await workerWorld(server.url);
  const worker = await world.worker({ LEHR_LOG_LEVEL: 'trace', ...env });
  await world.reached(await world.draw({ prompt: PROMPT }));
  return worker.lines;
}

test('No line of the log of a worker contains a prompt; the start of a job is logged with its length', async () => {
  const lines = await linesOf({});
  expect(JSON.stringify(lines)).not.toContain('otter');
  const prompt = { length: PROMPT.length, sha256: expect.stringMatching(/^[0-9a-f]{12}$/) };
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'job started', prompt }));
});

test('With LEHR_LOG_PROMPTS the start of a job is logged with its prompt', async () => {
  const lines = await linesOf({ LEHR_LOG_PROMPTS: 'true' });
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'job started', prompt: PROMPT }));
});
