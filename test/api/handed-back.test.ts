/** Jobs without a record that their worker hands back: a job with a record takes the place of each, and it is counted once. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  DirectJobs,
  type EndedRecord,
  HANDED_BACK,
  type RunningRecord,
  readDirectJob,
} from '../../packages/shared/src/queue/direct/direct-jobs.ts';
import { toStoredError } from '../../packages/shared/src/records/index.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { answerStored, type TextWorld, textWorld } from '../support/text-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const GROUP = 'text.minilm@1';

/** A world whose worker does this with each direct job. */
async function directWorld(onJob: (world: TextWorld, job: RunningRecord) => Promise<unknown>) {
  const world = await textWorld(server.url, {}, false);
  const { parts, worker } = world;
  await worker.report({ tasks: ['text'], models: [{ ref: 'minilm@1', batching: 'step', providers: {} }] });
  // Asking for it opens the channel on which ends come.
  await expect.poll(() => parts.waits.holder).toBeDefined();
  const subscriber = testRedis(server.url, 'subscriber');
  subscriber.on('message', (_: string, message: string) => {
    const job = readDirectJob(message, worker.id);
    if (job) void onJob(world, job);
  });
  await subscriber.subscribe(parts.keys.direct(worker.id));
  const { ask } = await keyHolder(world, 'one', { limits: { max_jobs: 1 } });
  const body = { type: 'text-embedding', input: { texts: ['a red circle'] }, durability: 'none' };
  const accepted = async (): Promise<number> => {
    const line = /^lehr_jobs_accepted_total\{.*minilm.*\} (\d+)$/m.exec(await parts.metricsPage.render());
    return Number(line?.[1] ?? 0);
  };
  return { world, post: () => ask('POST', '/v1/jobs?wait=30', body), accepted };
}

async function end({ parts }: TextWorld, job: RunningRecord, code: typeof HANDED_BACK | 'internal') {
  const { state: _, ...rest } = job;
  const error = toStoredError({ code, message: 'Ended by the test.' });
  const ended: EndedRecord = { ...rest, state: 'failed', error, finished_at: 5, expires_at: 5 };
  await new DirectJobs(parts.redis, parts.keys).end(job, ended);
}

test('A direct job that is handed back and whose stored job is refused is not counted as accepted', async () => {
  const { post, accepted } = await directWorld(async (world, job) => {
    const { redis, keys } = world.parts;
    // Another job of the tenant takes its only place before the stored one is admitted.
    await redis.zadd(keys.liveOf(job.tenant), Date.now(), 'another job');
    await end(world, job, HANDED_BACK);
  });
  expect((await post()).status).toBe(429);
  expect(await accepted()).toBe(0);
});

test('A direct job that is handed back and runs with a record is counted once', async () => {
  const { world, post, accepted } = await directWorld((each, job) => end(each, job, HANDED_BACK));
  const answer = post();
  await answerStored(world, GROUP, { embeddings: '', dimensions: 4 });
  expect((await answer).headers.get('lehr-durability')).toBeNull();
  expect(await accepted()).toBe(1);
});

test('A direct job that its worker ends is counted, also when it failed', async () => {
  const { post, accepted } = await directWorld((each, job) => end(each, job, 'internal'));
  expect((await post()).headers.get('lehr-durability')).toBe('none');
  expect(await accepted()).toBe(1);
});
