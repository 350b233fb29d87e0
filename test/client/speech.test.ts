/** Recordings through the client: upload, transcription, subtitles, and pictures of what they say. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'subtitle';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Lehr } from '../../packages/client/src/index.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { longSpeech, SAMPLES } from '../support/speech-files.ts';
import { speechModels } from '../support/speech-models.ts';
import { startStack } from '../support/stack.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { faultyProxy } from './faulty-proxy.ts';
import { lehrFor } from './lehr-command.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const CIRCLE = fileURLToPath(new URL('en_circle.wav', SAMPLES));
const TEXT = /a red circle on a blue background/i;

test('The SDK uploads a recording, also when an answer is lost, and transcribes it', {
  tags: ['long'],
}, async () => {
  const stack = await startStack(server, { LEHR_MODELS: await speechModels() });
  const proxy = await faultyProxy(stack.url);
  const lehr = new Lehr({ url: proxy.url, apiKey: stack.key });
  const recording = (await readFile(CIRCLE)) as Buffer<ArrayBuffer>;
  proxy.inject('refuse', 'lose-answer');
  const file = await lehr.upload(recording, { name: 'circle.wav' });
  expect(file).toMatchObject({ name: 'circle.wav', size: recording.byteLength });
  expect(proxy.requests).toHaveLength(3);
  await stack.worker();
  const job = await lehr.run({ type: 'speech-to-text', input: { audio: file.urls.get } });
  expect(job.output).toMatchObject({ text: expect.stringMatching(TEXT), language: 'en' });
  const drawn = await lehr.run({ type: 'speech-to-image', input: { audio: file.urls.get, steps: 4 } });
  expect(drawn.output).toMatchObject({ text: expect.stringMatching(TEXT), images: [{ width: 64 }] });
});

test('lehr transcribe writes the text, the subtitles or the whole job', { tags: ['long'] }, async () => {
  const stack = await startStack(server, { LEHR_MODELS: await speechModels() });
  await stack.worker();
  const lehr = lehrFor(stack);
  const text = await lehr(['transcribe', CIRCLE]);
  expect(text).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(TEXT) });
  const folder = await tempFolder('subtitles');
  const srt = join(folder, 'circle.srt');
  expect(await lehr(['transcribe', CIRCLE, '--language', 'en', '-o', srt])).toMatchObject({
    code: 0,
    stdout: '',
  });
  const [cue] = parseSync(await readFile(srt, 'utf8'));
  expect(cue).toMatchObject({ type: 'cue', data: { text: expect.stringMatching(TEXT) } });
  expect((await lehr(['transcribe', CIRCLE, '--format', 'vtt'])).stdout).toMatch(/^WEBVTT\n\n00:00:/);
  const again = ['transcribe', CIRCLE, '--json', '--metadata', 'order=81', '--idempotency-key', 'order-81'];
  const [first, second] = [await lehr(again), await lehr(again)].map(({ stdout }) => JSON.parse(stdout));
  expect(first).toMatchObject({ type: 'speech-to-text', metadata: { order: '81' } });
  expect(second.id).toBe(first.id);
  const noise = join(folder, 'noise.wav');
  await writeFile(noise, 'this is no recording');
  expect(await lehr(['transcribe', noise])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('invalid-audio'),
  });
  expect((await lehr(['transcribe', CIRCLE, '--temperature', '7'])).code).toBe(65);
});

test('lehr submit --audio draws what a recording says, and accepts recordings of any size', {
  tags: ['long'],
}, async () => {
  const stack = await startStack(server, { LEHR_MODELS: await speechModels() });
  const lehr = lehrFor(stack);
  const folder = await tempFolder('spoken');
  const long = join(folder, 'long.wav');
  await writeFile(long, (await longSpeech(6)).bytes);
  const uploaded = JSON.parse((await lehr(['submit', '--audio', long, '--json'])).stdout);
  expect(uploaded).toMatchObject({ type: 'speech-to-image', status: 'queued' });
  await lehr(['cancel', uploaded.id]);
  await stack.worker();
  const drawn = await lehr(['submit', '--audio', CIRCLE, '--steps', '4', '-o', join(folder, 'drawn.png')]);
  expect(drawn).toMatchObject({ code: 0, stdout: expect.stringMatching(TEXT) });
  expect((await readFile(join(folder, 'drawn.png'))).readUInt32BE(16)).toBe(64);
});
