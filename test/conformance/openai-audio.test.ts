/** Speech with the published `openai` client against a running Lehr; only base URL and key are set. */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { BadRequestError, NotFoundError, toFile } from 'openai';
import { parseSync } from 'subtitle';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shared } from '../support/cleanup.ts';
import { errorOf, openai } from '../support/openai-client.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { wav } from '../support/speech-files.ts';
import { speechModels } from '../support/speech-models.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { storedJobs } from '../support/stored-jobs.ts';

const LONG_WAIT = { timeout: 30_000 };

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const SAMPLES = new URL('../golden/samples/', import.meta.url);
const sample = (name: string): string => fileURLToPath(new URL(name, SAMPLES));
const startSpeechStack = async (env: Record<string, string> = {}): Promise<Stack> =>
  startStack(server, { LEHR_MODELS: await speechModels(), ...env });

const stack = shared(async () => {
  const all = await startSpeechStack();
  await all.worker();
  return all;
});

const CIRCLE = /a red circle on a blue background/i;
const ears = (name = 'speech/en_circle.wav') => ({ model: 'ears', file: createReadStream(sample(name)) });

describe('audio.transcriptions.create', () => {
  test('A transcription is available in every response format, each with its content type', async () => {
    const { client, answers } = openai(stack);
    const { transcriptions } = client.audio;
    const typeOf = () => answers.at(-1)?.headers.get('content-type');

    const json = await transcriptions.create(ears());
    expect(Object.keys(json).filter((name) => !name.startsWith('_'))).toEqual(['text', 'usage']);
    expect(json.text).toMatch(CIRCLE);
    expect(json.usage).toEqual({ type: 'duration', seconds: expect.closeTo(2.37, 1) });
    expect(typeOf()).toBe('application/json');

    const text: unknown = await transcriptions.create({ ...ears(), response_format: 'text' });
    expect(text).toBe(`${json.text}\n`);
    expect(typeOf()).toBe('text/plain; charset=utf-8');

    const verbose = await transcriptions.create({
      ...ears(),
      response_format: 'verbose_json',
      timestamp_granularities: ['segment'],
    });
    expect(verbose).toMatchObject({ task: 'transcribe', language: 'english', text: json.text });
    expect(verbose.duration).toBeCloseTo(2.37, 1);
    expect(verbose.words).toBeUndefined();
    for (const [i, segment] of (verbose.segments ?? []).entries()) {
      const { text: segmentText, tokens, id, ...numbers } = segment;
      expect(id).toBe(i);
      expect(typeof segmentText).toBe('string');
      expect(tokens.every(Number.isInteger)).toBe(true);
      expect(Object.keys(numbers).sort()).toEqual(
        ['avg_logprob', 'compression_ratio', 'end', 'no_speech_prob', 'seek', 'start', 'temperature'].sort(),
      );
      for (const value of Object.values(numbers)) expect(typeof value).toBe('number');
      expect(segment.end).toBeGreaterThan(segment.start);
    }
    expect(verbose.segments?.length).toBeGreaterThan(0);

    for (const [response_format, type] of [
      ['srt', 'application/x-subrip; charset=utf-8'],
      ['vtt', 'text/vtt; charset=utf-8'],
    ] as const) {
      const cues: unknown = await transcriptions.create({ ...ears(), response_format });
      const parsed = parseSync(String(cues)).filter(({ type }) => type === 'cue');
      expect(parsed.length).toBe(verbose.segments?.length);
      expect(typeOf()).toBe(type);
    }
    // Each upload was deleted with its job.
    const jobs = storedJobs(server.url, stack);
    expect(await jobs.redis.keys(`${jobs.keys.prefix}:file:*`)).toEqual([]);
  });

  test('A transcription accepts form parts in any order and detects the file format from its content', async () => {
    const { client } = openai(stack);
    const { transcriptions } = client.audio;
    const fields = { language: 'en', prompt: 'Shapes and colours.', temperature: 0 };
    const { file, model } = ears();
    expect((await transcriptions.create({ ...fields, model, file })).text).toMatch(CIRCLE);
    expect((await transcriptions.create({ file: ears().file, ...fields, model })).text).toMatch(CIRCLE);
    const misnamed = await toFile(readFile(sample('formats/en_circle.flac')), 'memo.mp3', {
      type: 'audio/mpeg',
    });
    expect((await transcriptions.create({ file: misnamed, model })).text).toMatch(CIRCLE);
    for (const name of ['en_circle.mp3', 'en_circle.m4a', 'en_circle.opus.ogg', 'en_circle.webm']) {
      const { text } = await transcriptions.create({
        model,
        file: createReadStream(sample(`formats/${name}`)),
      });
      expect(text, name).toMatch(/circle/i);
    }
    // A Blob without a file name, and granularities without brackets.
    const form = new FormData();
    form.append('response_format', 'verbose_json');
    form.append('timestamp_granularities', 'segment');
    form.append('file', new Blob([await readFile(sample('speech/en_circle.wav'))]));
    form.append('include[]', 'logprobs');
    form.append('chunking_strategy[type]', 'auto');
    form.append('model', model);
    const response = await fetch(`${stack.url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.key}` },
      body: form,
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      task: 'transcribe',
      text: expect.stringMatching(CIRCLE),
    });
  });

  test('The text deltas of a streamed transcription join to its text', async () => {
    const { client, answers } = openai(stack);
    const events = [];
    for await (const event of await client.audio.transcriptions.create({ ...ears(), stream: true })) {
      events.push(event);
    }
    expect(answers[0]?.headers.get('content-type')).toContain('text/event-stream');
    const deltas = events.flatMap((event) => (event.type === 'transcript.text.delta' ? [event.delta] : []));
    const done = events.at(-1);
    expect(done?.type).toBe('transcript.text.done');
    expect(done && 'text' in done && done.text).toBe(deltas.join(''));
    expect(deltas.join('')).toMatch(CIRCLE);
    expect(events).toHaveLength(deltas.length + 1);
  });

  test('A transcription of silence is an empty text, an empty srt and a vtt without cues', async () => {
    const { client } = openai(stack);
    const silence = async () => toFile(wav(new Int16Array(2 * 16_000)), 'silence.wav');
    const transcribe = async (response_format: 'json' | 'srt' | 'vtt'): Promise<unknown> =>
      client.audio.transcriptions.create({ model: 'ears', file: await silence(), response_format });
    expect(await transcribe('json')).toMatchObject({ text: '' });
    expect(await transcribe('srt')).toBe('');
    expect(await transcribe('vtt')).toBe('WEBVTT\n');
  });
});

test('A translation is English text in the formats of a transcription', async () => {
  const { client } = openai(stack);
  const spanish = () => ({ model: 'ears', file: createReadStream(sample('speech/es_circulo.wav')) });
  const { text } = await client.audio.translations.create(spanish());
  expect(typeof text).toBe('string');
  const verbose = await client.audio.translations.create({ ...spanish(), response_format: 'verbose_json' });
  expect(verbose).toMatchObject({ task: 'translate', language: 'english', text });
  const srt: unknown = await client.audio.translations.create({ ...spanish(), response_format: 'srt' });
  expect(typeof srt).toBe('string');
});

describe('refused audio requests', () => {
  test('An invalid form part is a BadRequestError that names it, and the upload is not kept', async () => {
    const stack = await startSpeechStack();
    const { client } = openai(stack);
    const { transcriptions } = client.audio;
    const refused: readonly [fields: object, param: string, code: string][] = [
      [{ model: undefined }, 'model', 'missing_required_parameter'],
      [{ language: 'xx' }, 'language', 'unsupported_value'],
      [{ language: 'english!' }, 'language', 'invalid_value'],
      [{ response_format: 'diarized_json' }, 'response_format', 'unsupported_value'],
      [{ temperature: 1.5 }, 'temperature', 'invalid_value'],
      [{ temperature: 'hot' }, 'temperature', 'invalid_value'],
      [{ timestamp_granularities: ['word'] }, 'timestamp_granularities[]', 'invalid_value'],
      [
        { timestamp_granularities: ['line'], response_format: 'verbose_json' },
        'timestamp_granularities[]',
        'unsupported_value',
      ],
      [{ stream: 'maybe' }, 'stream', 'unsupported_value'],
      [{ prompt: 'x'.repeat(5000) }, 'prompt', 'invalid_value'],
      [{ file: undefined }, 'file', 'missing_required_parameter'],
      [{ file: await toFile(Buffer.alloc(0), 'a.wav') }, 'file', 'invalid_value'],
    ];
    for (const [fields, param, code] of refused) {
      const error = await errorOf(transcriptions.create({ ...ears(), ...fields } as ReturnType<typeof ears>));
      expect(error, `${param} ${error.message}`).toBeInstanceOf(BadRequestError);
      expect(error).toMatchObject({ param, code, type: 'invalid_request_error' });
    }
    const model = await errorOf(transcriptions.create({ ...ears(), model: 'whisper-1' }));
    expect(model).toBeInstanceOf(NotFoundError);
    expect(model).toMatchObject({ code: 'model_not_found', param: 'model' });
    const pictureModel = await errorOf(transcriptions.create({ ...ears(), model: 'brush' }));
    expect(pictureModel).toMatchObject({ code: 'model_not_found', param: 'model' });
    const streamed = { ...ears(), stream: true } as ReturnType<typeof ears>;
    expect(await errorOf(client.audio.translations.create(streamed))).toMatchObject({
      status: 400,
      param: 'stream',
    });
    const body = await errorOf(client.post('/audio/transcriptions', { body: { model: 'ears' } }));
    expect(body).toMatchObject({ status: 415, type: 'invalid_request_error' });
    const jobs = storedJobs(server.url, stack);
    expect(await jobs.jobs()).toEqual([]);
    expect(await jobs.redis.keys(`${jobs.keys.prefix}:file:*`)).toEqual([]);
  });

  test('An audio file that is too large is refused with 413, with or without a content-length', async () => {
    const stack = await startSpeechStack({ LEHR_MAX_UPLOAD_MB: '0.05' });
    const { client, answers } = openai(stack);
    const whole = await toFile(readFile(sample('speech/en_circle.wav')), 'a.wav');
    for (const file of [whole, ears().file]) {
      const error = await errorOf(client.audio.transcriptions.create({ model: 'ears', file }));
      expect(error).toMatchObject({ status: 413, code: 'request_too_large', param: 'file' });
      expect(error.type).toBe('invalid_request_error');
    }
    expect(answers).toHaveLength(2);
  });

  test('Audio or options that only the worker finds invalid are a BadRequestError too', async () => {
    const { client } = openai(stack, { maxRetries: 2 });
    const text = await toFile(Buffer.from('this is no audio at all, whatever it is called'), 'a.wav');
    const error = await errorOf(client.audio.transcriptions.create({ model: 'ears', file: text }));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ param: 'file', code: 'invalid_value' });
    const words = client.audio.transcriptions.create({
      ...ears(),
      response_format: 'verbose_json',
      timestamp_granularities: ['word'],
    });
    // Whether the model can time words depends on the model.
    const outcome = await words.then(
      ({ words }) => Array.isArray(words),
      (thrown) => thrown instanceof BadRequestError && thrown.param === 'timestamp_granularities[]',
    );
    expect(outcome).toBe(true);
  });
});

describe('a transcription that takes longer than its hold', () => {
  test('The retry of a transcription whose hold has expired adopts its job if it sends the same file', {
    tags: ['long'],
  }, async () => {
    const stack = await startSpeechStack({ LEHR_HOLD_S: '1' });
    const jobs = storedJobs(server.url, stack);
    const { client, answers } = openai(stack, { maxRetries: 100 });
    const file = await toFile(readFile(sample('speech/en_circle.wav')), 'a.wav');
    const call = client.audio.transcriptions.create({ model: 'ears', file });
    await expect.poll(() => answers.length, LONG_WAIT).toBeGreaterThanOrEqual(2);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([504]));
    await stack.worker();
    expect((await call).text).toMatch(CIRCLE);
    expect(await jobs.jobs()).toHaveLength(1);
  });

  test('An Idempotency-Key gives the same transcription for the same file and refuses another file', async () => {
    const { client, answers } = openai(stack);
    const options = { headers: { 'Idempotency-Key': 'memo-81' } };
    const one = await client.audio.transcriptions.create(ears(), options);
    const same = await client.audio.transcriptions.create(ears(), options);
    expect(same.text).toBe(one.text);
    expect(answers[1]?.headers.get('idempotency-replayed')).toBe('true');
    const other = await errorOf(client.audio.transcriptions.create(ears('speech/en_fox.wav'), options));
    expect(other).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
  });
});
