/** What goes with a deleted job: everything in the store that belongs to it, and nothing that belongs to another one. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { deleteDueLeftovers } from '../../apps/api/src/jobs/leftovers.ts';
import {
  DEFAULT_TENANT,
  type Job,
  type JobId,
  LehrError,
  MAX_INLINE_TEXT_BYTES,
  MediaSourceSchema,
  type ObjectKey,
  toObjectKey,
} from '../../packages/shared/src/index.ts';
import { type ApiWorld, jobOf, problemOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { answerStored, textWorld } from '../support/text-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const AUDIO = Buffer.alloc(70_000, 'audio');
const audio = `data:audio/wav;base64,${AUDIO.toString('base64')}`;
const listening = { type: 'speech-to-text', input: { audio } };
const EARS = 'whisper.ears@1';
/** Too long for a record, so that they are an object. */
const texts = Array.from({ length: 96 }, () => 'x'.repeat(MAX_INLINE_TEXT_BYTES / 96));

async function objectsOf({ parts }: ApiWorld): Promise<string[]> {
  const keys: string[] = [];
  for (const prefix of ['in/', 'out/']) for await (const key of parts.store.list(prefix)) keys.push(key);
  return keys;
}

const storedMb = async ({ parts }: ApiWorld): Promise<number> =>
  (await parts.storage.usage(DEFAULT_TENANT)).stored_mb;

const post = async (world: ApiWorld, body: object, init?: RequestInit): Promise<Job> =>
  jobOf(await world.ask('POST', '/v1/jobs', body, init));

async function audioOf({ parts }: ApiWorld, id: JobId): Promise<ObjectKey> {
  const source = MediaSourceSchema.parse((await parts.records.read(id))?.input.audio);
  return toObjectKey(source.kind === 'object' ? source.key : '');
}

async function remove(world: ApiWorld, id: string): Promise<number> {
  await world.ask('POST', `/v1/jobs/${id}/cancel`);
  return (await world.ask('DELETE', `/v1/jobs/${id}`)).status;
}

test('Of a deleted text job neither its texts nor its result stay, and the link to the result leads nowhere', async () => {
  const world = await textWorld(server.url, {}, false);
  const [answer] = await Promise.all([
    world.ask('POST', '/v1/jobs?wait=30', { type: 'text-embedding', input: { texts } }),
    answerStored(world, 'text.minilm@1', {
      embeddings: Buffer.alloc(96 * 1024 * 4).toString('base64'),
      dimensions: 1024,
    }),
  ]);
  const job = await jobOf(answer);
  const link = job.output?.result_url ?? '';
  expect((await fetch(link)).status).toBe(200);
  expect(await objectsOf(world)).toHaveLength(2);
  expect(await remove(world, job.id)).toBe(204);
  expect(await objectsOf(world)).toEqual([]);
  expect((await fetch(link)).status).toBe(404);
  expect(await storedMb(world)).toBe(0);
});

test('Of a deleted workflow no file stays that was sent with it, also for a node that never started', async () => {
  const world = await textWorld(server.url);
  const nodes = [
    { id: 'first', ...listening },
    { id: 'then', type: 'speech-to-text', input: { audio, prompt: '{{first.text}}' } },
  ];
  const { id } = await post(world, { type: 'workflow', nodes });
  expect(await objectsOf(world)).toHaveLength(2);
  await world.worker.fail(await world.worker.take(EARS));
  await world.parts.workflows.advance(id as JobId);
  expect(await remove(world, id)).toBe(204);
  expect(await objectsOf(world)).toEqual([]);
  expect(await storedMb(world)).toBe(0);
});

test('A file of a request whose first try failed at the store belongs to the job that the second try makes', async () => {
  const world = await textWorld(server.url);
  const once = { headers: { 'idempotency-key': 'once' } };
  vi.spyOn(world.parts.store, 'put').mockRejectedValueOnce(new LehrError('storage-failed', 'It is full.'));
  expect((await world.ask('POST', '/v1/jobs', listening, once)).status).toBe(503);
  const { id } = await post(world, listening, once);
  const claim = await world.worker.take(EARS);
  const key = await audioOf(world, claim.jobId);
  expect(await objectsOf(world)).toEqual([key]);
  expect(key).toContain(`/${id}/`);
  expect(await remove(world, id)).toBe(202);
  await world.worker.obeyCancel(claim);
  expect(await remove(world, id)).toBe(204);
  expect(await objectsOf(world)).toEqual([]);
  expect(await storedMb(world)).toBe(0);
});

test('Checkpoints in the store go with a job that was cancelled in its queue', async () => {
  const world = await textWorld(server.url);
  const { id } = await world.post();
  const checkpoint = toObjectKey(`out/default/${id}/checkpoints/lease.0`);
  await world.parts.store.put(checkpoint, Buffer.from('latent'), { contentType: 'application/octet-stream' });
  expect(await remove(world, id)).toBe(204);
  expect(await objectsOf(world)).toEqual([]);
});

test('A job that the store does not let go stays, counts its space once, and can be deleted again', async () => {
  const world = await textWorld(server.url);
  const [kept, job] = [await post(world, listening), await post(world, listening)];
  const { store } = world.parts;
  vi.spyOn(store, 'deleteMany').mockRejectedValueOnce(new LehrError('storage-failed', 'It does not answer.'));
  expect(await remove(world, job.id)).toBe(503);
  expect((await world.get(job.id)).status).toBe('canceled');
  expect(await remove(world, job.id)).toBe(204);
  expect(await objectsOf(world)).toEqual([expect.stringContaining(kept.id)]);
  expect(await storedMb(world)).toBe(0.07);
});

test('What was sent with a job that is removed because Redis filled goes with its outputs', async () => {
  const world = await textWorld(server.url);
  const { redis, keys } = world.parts;
  const { id } = await post(world, listening);
  const claim = await world.worker.take(EARS);
  await world.parts.records.delete((await world.parts.records.read(claim.jobId))!);
  await world.parts.queues.of(EARS).complete(claim);
  await redis.zadd(keys.leftovers, 1, `default ${id} ${EARS}`);
  await deleteDueLeftovers(world.parts);
  expect(await objectsOf(world)).toEqual([]);
  expect(await storedMb(world)).toBe(0);
});

test('A retry keeps its audio when the job that it repeats is deleted, and the audio goes with the retry', async () => {
  const world = await textWorld(server.url);
  const { id } = await post(world, listening);
  await world.worker.fail(await world.worker.take(EARS));
  const retried = await jobOf(await world.ask('POST', `/v1/jobs/${id}/retry`));
  expect(await storedMb(world)).toBe(0.14);
  expect(await remove(world, id)).toBe(204);

  const claim = await world.worker.take(EARS);
  expect(claim.jobId).toBe(retried.id);
  const object = await world.parts.store.get(await audioOf(world, claim.jobId));
  expect(Buffer.from(await new Response(object?.body).arrayBuffer())).toEqual(AUDIO);
  expect(object?.contentType).toBe('audio/wav');
  await world.worker.fail(claim);
  expect(await storedMb(world)).toBe(0.07);
  expect(await remove(world, retried.id)).toBe(204);
  expect(await objectsOf(world)).toEqual([]);
  expect(await storedMb(world)).toBe(0);
});

test('A retry of an edit copies its picture and its mask, and a cancelled and deleted one leaves neither', async () => {
  const world = await textWorld(server.url);
  const file = (bytes: string): string => `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`;
  const input = { prompt: 'a red circle', image: file('picture'), mask: file('mask') };
  const { id } = await post(world, { type: 'text-to-image', input });
  await world.ask('POST', `/v1/jobs/${id}/cancel`);
  const retried = await jobOf(await world.ask('POST', `/v1/jobs/${id}/retry`));
  expect(retried.input).toMatchObject({ image: 'data:', mask: 'data:', mask_fill: 'original' });
  expect(await remove(world, id)).toBe(204);
  const left = await objectsOf(world);
  const texts = left.map(async (key) => {
    const object = await world.parts.store.get(toObjectKey(key));
    return new Response(object?.body).text();
  });
  expect((await Promise.all(texts)).toSorted()).toEqual(['mask', 'picture']);
  expect(left.every((key) => key.includes(retried.id))).toBe(true);
  await world.ask('POST', `/v1/jobs/${retried.id}/cancel`);
  expect(await remove(world, retried.id)).toBe(204);
  expect(await objectsOf(world)).toEqual([]);
});

test('A retry whose audio is no longer stored is a 410, makes no job and costs nothing', async () => {
  const world = await textWorld(server.url);
  const { id } = await post(world, listening);
  await world.worker.fail(await world.worker.take(EARS));
  const [key] = await objectsOf(world);
  await world.parts.store.delete(toObjectKey(key));
  const refund = vi.spyOn(world.parts.quotas, 'refund');
  const refused = await world.ask('POST', `/v1/jobs/${id}/retry`);
  expect(refused.status).toBe(410);
  expect((await problemOf(refused)).detail).toContain('no longer stored');
  expect(refund).toHaveBeenCalledOnce();
  expect(await storedMb(world)).toBe(0.07);
});

test('A retry of a job with an uploaded file uses the file itself', async () => {
  const world = await textWorld(server.url);
  const body = new FormData();
  body.set('content', new Blob([AUDIO]), 'a.wav');
  const file = (await (await world.ask('POST', '/v1/files', undefined, { body })).json()) as { id: string };
  const { id } = await post(world, { type: 'speech-to-text', input: { audio: file.id } });
  await world.worker.fail(await world.worker.take(EARS));
  const retried = await jobOf(await world.ask('POST', `/v1/jobs/${id}/retry`));
  expect(retried.input).toEqual((await world.get(id)).input);
  expect(await objectsOf(world)).toEqual([`in/default/${file.id}`]);
});
