/** Previews from the engine process through worker and Redis to the event stream of the API. */
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobId, Preview } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld } from '../support/api-world.ts';
import { correlation, shrinkPixels } from '../support/correlation.ts';
import { readEvents } from '../support/event-stream.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { type WorkerWorld, workerWorld } from '../support/worker-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const STEP_MS = 20;

/** A world without workers yet, and an API on the same Redis. */
async function previewWorld(): Promise<{ world: WorkerWorld; api: ApiWorld }> {
  const world = await workerWorld(server.url);
  return { world, api: await apiWorld(server.url, { keys: world.keys }) };
}

/** Slow enough for several previews. */
const SLOW = { stepBaseMs: STEP_MS, stepPerRowMs: 0, pictureMs: 2, textMs: 1 };

/** Counts the preview messages that are published from now on, by job. */
async function previewMessages(world: WorkerWorld): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const subscriber = testRedis(server.url, 'subscriber');
  const prefix = world.keys.preview('' as JobId);
  subscriber.on('pmessage', (_pattern: string, channel: string) => {
    const id = channel.slice(prefix.length);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  });
  await subscriber.psubscribe(`${prefix}*`);
  return counts;
}

/** Reads the job's event stream to its end. */
async function follow(
  api: ApiWorld,
  id: JobId,
): Promise<{ previews: Preview[]; seconds: number; last: string }> {
  const previews: Preview[] = [];
  const at = new Map<string, number>();
  let last = '';
  for await (const { event, data } of readEvents(await api.ask('GET', `/v1/jobs/${id}/events`))) {
    if (data.type === 'job.preview') previews.push(data.data);
    else at.set(event, Date.parse(data.timestamp));
    last = event;
  }
  const seconds = ((at.get('job.succeeded') ?? Number.NaN) - (at.get('job.started') ?? Number.NaN)) / 1000;
  return { previews, seconds, last };
}

test('A followed job has previews at most twice a second, and a job that no client follows has none', {
  tags: ['long'],
}, async () => {
  const { world, api } = await previewWorld();
  const messages = await previewMessages(world);
  const [followed, alone] = await Promise.all([world.draw({ steps: 150, n: 2 }), world.draw({ steps: 150 })]);
  const [{ previews, seconds, last }] = await Promise.all([
    follow(api, followed),
    world.simulated({ latency: SLOW }),
  ]);
  expect(last).toBe('job.succeeded');
  expect(previews.length).toBeGreaterThanOrEqual(3);
  expect(previews.length).toBeLessThanOrEqual(2 * seconds + 1);
  const steps = previews.map(({ step }) => step);
  expect(steps).toEqual([...steps].sort((a, b) => a - b));
  expect(new Set(previews.map(({ index }) => index))).toEqual(new Set([0, 1]));
  for (const { id, content_type, data } of previews) {
    expect({ id, content_type }).toEqual({ id: followed, content_type: 'image/webp' });
    const bytes = Buffer.from(data, 'base64');
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 8, height: 8 });
  }
  await world.reached(alone);
  expect([...messages.keys()]).toEqual([followed]);
});

test('A late preview resembles the picture that a real model draws', { tags: ['long'] }, async () => {
  const { world, api } = await previewWorld();
  // Enough steps for several seconds on a fast machine, so that the last preview comes in the second half.
  const id = await world.draw({ steps: 999, guidance: 3, width: 512, height: 512 });
  // Followed before its start, so that it has previews from its first steps on.
  const [{ previews }] = await Promise.all([follow(api, id), world.worker()]);
  const record = await world.reached(id);
  if (record.state !== 'succeeded') throw new Error(JSON.stringify(record));
  const [first, late] = [previews[0], previews.at(-1) as Preview];
  expect(first.step).toBeLessThan(333);
  expect(late.step).toBeGreaterThan(500);
  const thumbnail = await sharp(Buffer.from(late.data, 'base64')).raw().toBuffer();
  const file = await world.readObject(record.output.images[0].key);
  const picture = shrinkPixels(await sharp(file).raw().toBuffer(), { width: 512, height: 512 }, 8);
  expect(correlation(thumbnail, picture)).toBeGreaterThan(0.8);
});
