/** Files, speech and speech-to-image with the published `replicate` client against a running Lehr. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { problemIn, refused, replicate } from '../support/replicate-client.ts';
import { speechModels } from '../support/speech-models.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { storedJobs } from '../support/stored-jobs.ts';

/** Each test starts a whole installation, possibly on a busy machine. */
vi.setConfig({ testTimeout: 180_000 });

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const circle = (): Promise<Buffer> =>
  readFile(new URL('../golden/samples/speech/en_circle.wav', import.meta.url));
const startSpeechStack = async (): Promise<Stack> =>
  startStack(server, { LEHR_MODELS: await speechModels() });

const CIRCLE = /a red circle on a blue background/i;

describe('files', () => {
  test('A file is uploaded with its metadata, read, and deleted', async () => {
    const stack = await startSpeechStack();
    const { client, calls } = replicate(stack);
    const bytes = await circle();
    const blob = new File([new Uint8Array(bytes)], 'memo.wav', { type: 'audio/wav' });
    const file = await client.files.create(blob, { order: 81 });
    expect(calls[0]?.status).toBe(201);
    expect(file).toMatchObject({
      id: expect.any(String),
      name: 'memo.wav',
      content_type: 'audio/wav',
      size: bytes.length,
      checksums: { sha256: createHash('sha256').update(bytes).digest('hex') },
      metadata: { order: 81 },
      urls: { get: `${stack.url}/v1/files/${file.id}` },
    });
    expect(Date.parse(file.expires_at ?? '')).toBeGreaterThan(Date.parse(file.created_at));
    expect(await client.files.get(file.id)).toEqual(file);
    expect(await client.files.delete(file.id)).toBe(true);
    expect(problemIn(await refused(client.files.get(file.id)))).toMatchObject({ status: 404 });
  });
});

describe('speech', () => {
  test('Speech input can be a File, a Buffer, a file link or a data: URI', { tags: ['long'] }, async () => {
    const stack = await startSpeechStack();
    await stack.worker();
    const { client, calls } = replicate(stack);
    const bytes = await circle();
    const stored = await client.files.create(new Blob([new Uint8Array(bytes)]));
    const audios: unknown[] = [
      new File([new Uint8Array(bytes)], 'memo.wav'),
      bytes,
      stored.urls.get,
      `data:audio/wav;base64,${bytes.toString('base64')}`,
    ];
    for (const audio of audios) {
      const input = { audio, language: 'en', task: 'transcribe', temperature: 0, prompt: 'Shapes.' };
      const output = await client.run('lehr/ears', { input });
      expect(output).toEqual({
        text: expect.stringMatching(CIRCLE),
        language: 'en',
        duration: expect.closeTo(2.37, 1),
        segments: expect.arrayContaining([expect.objectContaining({ text: expect.any(String) })]),
      });
    }
    expect(calls.filter(({ path }) => path === '/v1/files')).toHaveLength(3);
    const { results } = await client.predictions.list();
    expect(results.map(({ input }) => (input as { audio: string }).audio)).toEqual([
      'data:',
      stored.urls.get,
      expect.stringContaining(`${stack.url}/v1/files/`),
      expect.stringContaining(`${stack.url}/v1/files/`),
    ]);
  });

  test('A speech model streams its text, and a chain with a picture model draws the text', {
    tags: ['long'],
  }, async () => {
    const stack = await startSpeechStack();
    await stack.worker();
    const { client } = replicate(stack);
    let text = '';
    for await (const { event, data } of client.stream('lehr/ears', { input: { audio: await circle() } })) {
      if (event === 'output') text += data;
    }
    expect(text).toMatch(CIRCLE);
    const input = { audio: await circle(), width: 64, height: 64, num_inference_steps: 4 };
    const output = (await client.run('lehr/ears+brush', { input })) as { text: string; images: string[] };
    expect(output.text).toMatch(CIRCLE);
    expect(output.images).toHaveLength(1);
    expect((await fetch(output.images[0] ?? '')).headers.get('content-type')).toBe('image/png');
    const [chain] = (await client.predictions.list()).results;
    expect(chain).toMatchObject({
      model: 'lehr/ears+brush',
      version: 'ears@1+brush@1',
      input: { num_inference_steps: 4, width: 64 },
    });
    const again = await client.run('lehr/ears+brush:ears@1+brush@1', { input });
    expect(again).toMatchObject({ text: output.text });
  });

  test('Invalid speech input is refused and its field is named, and so is an ambiguous version', async () => {
    const stack = await startSpeechStack();
    const { client } = replicate(stack);
    const bad: readonly [input: object, pointer: string][] = [
      [{}, '/input/audio'],
      [{ audio: 'ftp://app.example/a.wav' }, '/input/audio'],
      [{ audio: 'http://169.254.169.254/' }, '/input/audio'],
      [{ audio: `${stack.url}/v1/files/file_01jd3v9s6w0000000000000000` }, '/input/audio'],
      [{ audio: 'https://app.example/a.wav', task: 'sing' }, '/input/task'],
      [{ audio: 'https://app.example/a.wav', width: 64 }, '/input/width'],
    ];
    for (const [input, pointer] of bad) {
      const problem = problemIn(await refused(client.run('lehr/ears', { input })));
      expect(problem).toMatchObject({ status: 422, errors: [{ pointer }] });
    }
    const version = problemIn(
      await refused(client.run('lehr/ears:1', { input: { audio: 'https://a.example/' } })),
    );
    expect(version).toMatchObject({ status: 422, errors: [{ pointer: '/version' }] });
    expect(version.detail).toContain('brush@1 or ears@1');
    expect(await storedJobs(server.url, stack).jobs()).toEqual([]);
  });
});
