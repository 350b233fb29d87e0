import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '../support/bundle.ts';
import { startProgram } from '../support/lehr-process.ts';
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

test('An error of Redis that nothing catches ends the process and is logged without its command', async () => {
  const program = await bundle('../support/uncaught-error.ts', import.meta.url);
  const process = startProgram(program, {}, [server.url, PROMPT]);
  expect(await process.exited()).toBe(1);
  expect(await process.logged('uncaught error; the process ends')).toMatchObject({
    error: { message: expect.stringContaining('WRONGTYPE') },
  });
  expect(JSON.stringify(process.lines)).not.toContain('otter');
});
