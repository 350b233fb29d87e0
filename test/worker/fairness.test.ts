import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobId } from '../../packages/shared/src/index.ts';
import type { JobRecord } from '../../packages/shared/src/records/index.ts';
import { apiWorld } from '../support/api-world.ts';
import { type KeyHolder, keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { workerWorld } from '../support/worker-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** Without guidance a sample has one row, so that this many jobs share a batch. */
const ROW_CAP = 16;
const FLOOD = 10_000;
const LATE = 10;
const READ_AT_ONCE = 500;
const circle = {
  type: 'text-to-image',
  input: { prompt: 'a circle', steps: 10, guidance: 1, sampler: 'ddim' },
};

async function postMany({ ask }: KeyHolder, count: number): Promise<JobId[]> {
  const ids: JobId[] = [];
  let left = count;
  const poster = async (): Promise<void> => {
    while (left-- > 0) {
      const response = await ask('POST', '/v1/jobs', circle);
      ids.push(((await response.json()) as { id: JobId }).id);
    }
  };
  await Promise.all(Array.from({ length: 20 }, poster));
  return ids;
}

test('Ten jobs posted after ten thousand of another tenant wait for two batches at most', {
  tags: ['long'],
}, async () => {
  const workers = await workerWorld(server.url);
  const world = await apiWorld(server.url, { keys: workers.keys, maxWaitMs: 1e9 });
  const a = await keyHolder(world, 'a', { limits: { max_jobs: null } });
  const b = await keyHolder(world, 'b');
  const flood = await postMany(a, FLOOD);
  // A batch of sixteen takes a quarter of a second.
  await workers.simulated({
    rowCap: ROW_CAP,
    latency: { stepBaseMs: 9, stepPerRowMs: 1, pictureMs: 0, textMs: 0 },
    // No speed is reported: prices made from speeds of a busy machine would make the late jobs cost more than the early ones.
    times: { reportEveryMs: 3_600_000 },
  });
  await workers.reached(flood[0]);
  const late = await postMany(b, LATE);
  const ended = await Promise.all(late.map((id) => workers.reached(id)));
  expect(ended.map(({ state }) => state)).toEqual(late.map(() => 'succeeded'));

  const startOf = (record: JobRecord | undefined): number =>
    record && 'started_at' in record ? (record.started_at ?? 0) : 0;
  const before: number[] = [];
  // In parts: one command for all records may take longer than the API's limit for a command on a busy machine.
  for (let from = 0; from < FLOOD; from += READ_AT_ONCE) {
    const records = await world.parts.records.readMany(flood.slice(from, from + READ_AT_ONCE));
    before.push(...records.map(startOf));
  }
  expect(before.filter((start) => start === 0).length, 'most of the first jobs still wait').toBeGreaterThan(
    FLOOD / 2,
  );
  const starts = [...before, ...ended.map(startOf)];
  // Counted for each late job from its own creation: ten requests on a busy machine are not simultaneous.
  const batches = ended.map((record) => {
    const startedBefore = starts.filter((start) => start > record.created_at && start <= startOf(record));
    return startedBefore.length / ROW_CAP;
  });
  expect(Math.max(...batches)).toBeLessThanOrEqual(2);
});
