/** The command `lehr` makes, shows, cancels and repeats batches, over a real API and a worker that the test controls. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { feedBatches } from '../../apps/api/src/batches/feeder.ts';
import type { Batch } from '../../packages/shared/src/index.ts';
import { whenDone } from '../support/cleanup.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { lehrFor } from './lehr-command.ts';
import { servedApi } from './served-api.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('lehr batch makes a sweep and a file of lines, and lehr batches shows, reads, cancels and repeats them', async () => {
  const api = await servedApi(server.url);
  const lehr = lehrFor(api);
  await api.worker.report();
  const folder = await tempFolder('batches');
  const write = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const sweep = await write(
    'sweep.json',
    JSON.stringify({ request: { type: 'text-to-image', input: { prompt: 'a' } }, values: { seed: [1, 2] } }),
  );
  expect((await lehr(['batch', sweep, '--dry-run'])).stdout).toMatch(
    /^2 jobs, about .* of one device\nabout /,
  );
  const made = await lehr(['batch', sweep, '--json']);
  const { id, request_counts } = JSON.parse(made.stdout) as { id: string; request_counts: object };
  expect(request_counts).toMatchObject({ total: 2 });
  expect((await lehr(['batches', 'results', id])).stderr).toContain('has not ended');
  whenDone(feedBatches(api.parts));
  for (let i = 0; i < 2; i += 1) await api.worker.succeed(await api.worker.next('diffusion.tiny@1.64x64'));
  const status = async () => ((await (await api.ask('GET', `/v1/batches/${id}`)).json()) as Batch).status;
  await expect.poll(status).toBe('completed');
  const seeds = (await lehr(['batches', 'results', id])).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).response.body.input.seed);
  expect(seeds).toEqual([1, 2]);
  const zip = join(folder, 'all.zip');
  expect(await lehr(['batches', 'results', id, '--zip', zip])).toMatchObject({ code: 0 });
  expect(Object.keys(unzipSync(await readFile(zip)))).toEqual(['results.jsonl', 'line-1.png', 'line-2.png']);

  const body = { type: 'text-to-image', input: { prompt: 'a' }, model: 'no-such-model' };
  const line = JSON.stringify({ custom_id: 'x', method: 'POST', url: '/v1/jobs', body });
  const file = await write('lines.jsonl', `${line}\n`);
  const ended = await lehr(['batch', file, '--wait', '--window', '2h']);
  expect(ended.stdout).toContain('completed: 0 of 1 done, 1 failed');
  const [failed] = ended.stdout.split('\n');
  expect((await lehr(['batches', 'results', failed, '--errors'])).stdout).toContain('model-not-found');
  const retried = await lehr(['batches', '--retry', failed, '--json']);
  expect(JSON.parse(retried.stdout)).toMatchObject([{ retried_from: failed }]);
  expect(await lehr(['batches', '--cancel', failed])).toMatchObject({ code: 0 });
  const table = (await lehr(['batches'])).stdout.trim().split('\n');
  expect(table).toHaveLength(4);
  expect(table.at(-1)).toMatch(/completed +2 +2 +0/);
  const bad = await write('bad.jsonl', '{}\n');
  expect(await lehr(['batch', bad, '--wait'])).toMatchObject({
    code: 2,
    stdout: expect.stringContaining('line 1: '),
  });
});
