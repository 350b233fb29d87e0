/** A batch through real processes that are killed in its middle. */
import { expect, test } from 'vitest';
import { chaosWorld, QUICK_STEPS } from '../../lab/chaos/chaos-world.ts';
import { type Batch, BatchSchema } from '../../packages/shared/src/index.ts';

const LINES = 600;

test('A batch goes on when API, worker and Redis are killed in its middle: no line is lost and none gets two jobs', {
  tags: ['long'],
}, async () => {
  const world = await chaosWorld();
  const { client } = world;
  const newWorker = () => world.worker({ latency: QUICK_STEPS });
  const worker = await newWorker();
  const input = { prompt: 'a red circle' };
  const values = { seed: Array.from({ length: LINES }, (_, i) => i) };
  const sweep = { request: { type: 'text-to-image', input }, values };
  const made = await client.ask('POST', '/v1/batches', { sweep });
  const { id } = BatchSchema.parse(await made.json());
  let batch: Batch | undefined;
  const read = async (): Promise<Batch | undefined> => {
    // While the API is away there is no answer.
    const response = await client.ask('GET', `/v1/batches/${id}`).catch(() => undefined);
    batch = response?.status === 200 ? BatchSchema.parse(await response.json()) : undefined;
    return batch;
  };
  const until = (count: number) =>
    expect
      .poll(async () => (await read())?.request_counts.completed ?? 0, { timeout: 60_000 })
      .toBeGreaterThanOrEqual(count);

  await until(20);
  world.api.signal('SIGKILL');
  await world.api.exited();
  await world.startApi();
  await until(150);
  await world.redis.kill();
  await world.redis.restart();
  await until(300);
  worker.signal('SIGKILL');
  await newWorker();
  await until(LINES);
  await expect.poll(async () => (await read())?.status, { timeout: 60_000 }).toBe('completed');
  expect(batch?.request_counts).toEqual({ total: LINES, completed: LINES, failed: 0 });

  const content = await client.ask('GET', `/v1/files/${batch?.output_file_id}/content`);
  const answers = (await content.text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).response.body as { id: string; input: { seed: number } });
  expect(answers.map(({ input: { seed } }) => seed)).toEqual(values.seed);
  expect(new Set(answers.map((job) => job.id)).size).toBe(LINES);
  // A job that ran twice has two attempts, each with its picture, and is one job.
  const drawn = (await world.storedOutputs()).flatMap((key) => /\/(job_[^/]+)\/.*png$/.exec(key)?.[1] ?? []);
  expect(new Set(drawn)).toEqual(new Set(answers.map((job) => job.id)));
});
