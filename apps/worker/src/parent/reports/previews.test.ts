import type { Clock, JobId } from '@lehr/shared';
import { silentLog, systemClock } from '@lehr/shared';
import { keysOf, type Redis } from '@lehr/shared/redis';
import sharp from 'sharp';
import { expect, test, vi } from 'vitest';
import type { SampleId, ToEngine } from '../../engine/protocol/messages.ts';
import type { JobRun, SampleRun } from '../runs/job-run.ts';
import { Previews } from './previews.ts';

const KEYS = keysOf('previews');

/** Records what is published and stored. */
function fakeRedis() {
  const published: string[] = [];
  const kept = new Map<string, string>();
  const redis = {
    set: async (key: string, text: string) => kept.set(key, text),
    publish: async (channel: string) => published.push(channel),
  };
  return { redis: redis as unknown as Redis, published, kept };
}

function worldOf() {
  let now = 0;
  const clock: Clock = { ...systemClock, monotonic: () => now };
  const sent: ToEngine[] = [];
  const { redis, published, kept } = fakeRedis();
  const send = (message: ToEngine) => sent.push(message);
  const previews = new Previews({ redis, keys: KEYS, clock, log: silentLog, send });
  return {
    previews,
    sent,
    published,
    kept,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

/** The part of a run that previews read. */
function runOf(pictures: number, parent?: string): JobRun {
  const samples = Array.from({ length: pictures }, (_, index) => ({
    request: { id: `sample-${index}` as SampleId, task: 'diffusion', steps: 8 },
    step: 1,
    steps: 8,
  }));
  const record = { id: 'job_1' as JobId, ...(parent && { parent: parent as JobId }) };
  return { record, samples, samplesInEngine: samples } as unknown as JobRun;
}

const previewOf = (sample: SampleRun, side = 4) => ({
  type: 'preview' as const,
  sample: sample.request.id,
  step: 3,
  pixels: new Uint8Array(side * side * 3).fill(200),
  width: side,
  height: side,
});

test('For a job that no client follows, no preview is requested or published', async () => {
  const { previews, sent, published, pass } = worldOf();
  const run = runOf(1);
  previews.follow(run, false);
  for (let step = 0; step < 100; step++) {
    pass(100);
    previews.stepped(run);
  }
  await previews.publish(run, run.samples[0], previewOf(run.samples[0]));
  expect(sent).toEqual([]);
  expect(published).toEqual([]);
});

test('Previews of a followed job are requested at most every half second, its pictures in turn', () => {
  const { previews, sent, pass } = worldOf();
  const run = runOf(3);
  previews.follow(run, true);
  for (let step = 0; step < 100; step++) {
    previews.stepped(run);
    previews.follow(run, true);
    pass(50);
  }
  const requested = sent.map((message) => message.type === 'preview' && message.sample);
  expect(requested).toEqual([0, 1, 2, 0, 1, 2, 0, 1, 2, 0].map((index) => `sample-${index}`));
  previews.follow(run, false);
  pass(1000);
  previews.stepped(run);
  expect(sent).toHaveLength(10);
});

test('A preview is a small WebP in one key with a message on its channel, for the job and for its workflow', async () => {
  const { previews, published, kept } = worldOf();
  const run = runOf(2, 'job_0');
  previews.follow(run, true);
  await previews.publish(run, run.samples[1], previewOf(run.samples[1], 64));
  const channels = ['job_1', 'job_0'].map((id) => KEYS.preview(id as JobId));
  expect(published).toEqual(channels);
  const [preview, same] = channels.map((key) => JSON.parse(kept.get(key) ?? ''));
  expect(preview).toEqual({
    id: 'job_1',
    step: 3,
    steps: 8,
    index: 1,
    content_type: 'image/webp',
    data: expect.any(String),
  });
  expect(same).toEqual(preview);
  const bytes = Buffer.from(preview.data, 'base64');
  expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 64, height: 64 });
  expect(bytes.length).toBeLessThan(2048);
});

test('Of two previews that arrive together one is published, and the next half second begins with it', async () => {
  const { previews, published, sent, pass } = worldOf();
  const run = runOf(2);
  previews.follow(run, true);
  await Promise.all(run.samples.map((sample) => previews.publish(run, sample, previewOf(sample))));
  expect(published).toHaveLength(1);
  pass(499);
  previews.stepped(run);
  await previews.publish(run, run.samples[1], previewOf(run.samples[1]));
  expect([sent.length, published.length]).toEqual([0, 1]);
  pass(1);
  previews.stepped(run);
  await previews.publish(run, run.samples[1], previewOf(run.samples[1]));
  expect([sent.length, published.length]).toEqual([1, 2]);
});

test('A Redis that refuses writes costs the preview and nothing else', async () => {
  const refuse = vi.fn(async () => {
    throw new Error('OOM');
  });
  const redis = { set: refuse, publish: refuse } as unknown as Redis;
  const previews = new Previews({ redis, keys: KEYS, clock: systemClock, log: silentLog, send: () => {} });
  const run = runOf(1);
  previews.follow(run, true);
  await previews.publish(run, run.samples[0], previewOf(run.samples[0]));
  expect(refuse).toHaveBeenCalled();
});
