/** Audio that costs much more than its bytes show, on a whole Lehr with real processes. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Job, NewApiKey } from '../../packages/shared/src/index.ts';
import { silentFlac } from '../support/audio-files.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { speechModels } from '../support/speech-models.ts';
import { startStack } from '../support/stack.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

/** 2 kB and 600 s: priced at 0.5 s by its bytes, as the smallest file is, and at 30 s by its length. */
const LONG = silentFlac({ seconds: 600, declaredSeconds: 600 });

test('Hours of sound in small files do not pass a budget of four engine seconds per minute', {
  tags: ['long'],
}, async () => {
  const stack = await startStack(redis, { LEHR_MODELS: await speechModels() });
  const made = await stack.ask('POST', '/v1/keys', { tenant: 'acme', limits: { cost_per_minute_s: 4 } });
  const { key } = (await made.json()) as NewApiKey;
  const headers = { authorization: `Bearer ${key}` };
  const audio = `data:audio/flac;base64,${Buffer.from(LONG).toString('base64')}`;
  const post = () => stack.ask('POST', '/v1/jobs', { type: 'speech-to-text', input: { audio } }, headers);
  const accepted = await Promise.all(Array.from({ length: 6 }, post));
  expect(accepted.map(({ status }) => status)).toEqual(accepted.map(() => 202));

  await stack.worker();
  const over = async (id: string): Promise<Job> => {
    for (;;) {
      const job = (await (
        await stack.ask('GET', `/v1/jobs/${id}?wait=20`, undefined, headers)
      ).json()) as Job;
      if (job.status !== 'queued' && job.status !== 'running') return job;
    }
  };
  const ids = await Promise.all(accepted.map(async (response) => ((await response.json()) as Job).id));
  const jobs = await Promise.all(ids.map(over));
  const failed = jobs.filter(({ status }) => status === 'failed');
  expect(jobs.map(({ status }) => status).sort()).toEqual([...failed.map(() => 'failed'), 'succeeded']);
  for (const { error } of failed) {
    expect(error).toMatchObject({
      code: 'rate-limited',
      retryable: true,
      detail: expect.stringMatching(
        /^The 600 seconds of audio cost about [\d.]+ engine seconds\. This key may spend 4 per minute and owes [\d.]+ for earlier jobs\.$/,
      ),
    });
  }
  // The debt of the first job is paid before the next one is accepted.
  expect((await post()).status).toBe(429);
});
