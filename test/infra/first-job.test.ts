/** The program of `helm test`, on a real API and a real worker. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT, readText } from '../repo/readme.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startStack } from '../support/stack.ts';

const run = promisify(execFile);
const PROGRAM = 'infra/helm/lehr/files/first-job.mjs';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

/** As the container of the test runs it. */
function firstJob(url: string, key: string) {
  const job = { type: 'text-to-image', input: { prompt: 'a red circle' } };
  const args = ['--input-type=module', '--eval', readText(PROGRAM)];
  const env = { API_URL: url, LEHR_API_KEY: key, JOB: JSON.stringify(job) };
  return run(process.execPath, args, { cwd: join(ROOT, 'test'), env });
}

test('helm test ends with 0 when its job has been drawn, and fails with the answer of the API when it is refused', async () => {
  const stack = await startStack(redis);
  await stack.worker();
  const { stdout } = await firstJob(stack.url, stack.key);
  expect(JSON.parse(stdout)).toMatchObject({ status: 'succeeded', output: { images: [{}] } });
  await expect(firstJob(stack.url, 'another key')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('401'),
  });
});
