/** A worker and the ffmpeg on its PATH, or on no PATH. */
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Job } from '../../packages/shared/src/index.ts';
import { sampleFile } from '../support/audio-golden.ts';
import { freePort } from '../support/ports.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { shellProgram } from '../support/shell-program.ts';
import { speechModels } from '../support/speech-models.ts';
import { startStack } from '../support/stack.ts';

const MISSING =
  'This worker cannot decode audio: ffmpeg is missing: install it there, or send 16-bit mono WAV at 16 kHz.';
const NO_PROGRAMS = { PATH: '/no-programs' };

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

test('A worker without ffmpeg is not ready, the API hints at it, and only jobs that need ffmpeg fail', {
  tags: ['long'],
}, async () => {
  const stack = await startStack(redis, { LEHR_MODELS: await speechModels() });
  const port = await freePort();
  const worker = await stack.worker({ ...NO_PROGRAMS, LEHR_WORKER_PORT: `${port}` });
  await worker.logged('audio cannot be decoded; jobs that need it will fail');

  const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
  expect([ready.status, await ready.text()]).toEqual([503, `${MISSING}\n`]);
  expect(await (await stack.ask('GET', '/readyz')).json()).toMatchObject({
    status: 'ready',
    workers: 1,
    hint: expect.stringContaining('A worker cannot decode audio'),
  });

  const transcribed = async (file: string): Promise<Job> => {
    const audio = `data:application/octet-stream;base64,${Buffer.from(sampleFile(file)).toString('base64')}`;
    const response = await stack.ask('POST', '/v1/jobs', { type: 'speech-to-text', input: { audio } });
    return stack.over(((await response.json()) as { id: string }).id);
  };
  expect(await transcribed('formats/en_circle.mp3')).toMatchObject({
    status: 'failed',
    error: { code: 'unavailable', detail: MISSING, retryable: true },
  });
  expect(await transcribed('speech/en_circle.wav')).toMatchObject({ status: 'succeeded' });
});

test('A speech job that is cancelled or expires ends its ffmpeg', { tags: ['long'] }, async () => {
  const check = 'case "$*" in *" -f wav "*) exec head -c 4 /dev/zero;; esac';
  const ffmpeg = shellProgram(`${check}\necho $$ >> "$0.out"; exec sleep 600`, 'ffmpeg');
  const stack = await startStack(redis, { LEHR_MODELS: await speechModels() });
  await stack.worker({ PATH: `${dirname(ffmpeg)}:/usr/bin:/bin` });
  const audio = `data:audio/mp3;base64,${Buffer.from(sampleFile('formats/en_circle.mp3')).toString('base64')}`;
  const post = async (fields: object): Promise<string> => {
    const body = { type: 'speech-to-text', input: { audio }, ...fields };
    return ((await (await stack.ask('POST', '/v1/jobs', body)).json()) as { id: string }).id;
  };
  const [canceled, expired] = [await post({}), await post({ deadline_s: 10 })];
  const pids = (): string[] => readFileSync(`${ffmpeg}.out`, 'utf8').trim().split('\n');
  await expect.poll(pids).toHaveLength(2);
  await stack.ask('POST', `/v1/jobs/${canceled}/cancel`);
  expect((await stack.over(canceled)).status).toBe('canceled');
  expect((await stack.over(expired)).status).toBe('expired');
  await expect.poll(() => pids().filter((pid) => spawnSync('kill', ['-0', pid]).status === 0)).toEqual([]);
});

test('A worker claims no speech job while there is no memory for its audio, and other jobs run', {
  tags: ['long'],
}, async () => {
  const check = 'case "$*" in *" -f wav "*) exec head -c 4 /dev/zero;; esac';
  const ffmpeg = shellProgram(`${check}\nexec sleep 600`, 'ffmpeg');
  const stack = await startStack(redis, { LEHR_MODELS: await speechModels(), LEHR_WAVEFORM_MB: '1' });
  const port = await freePort();
  await stack.worker({ PATH: `${dirname(ffmpeg)}:/usr/bin:/bin`, LEHR_WORKER_PORT: `${port}` });
  const post = async (file: string): Promise<string> => {
    const audio = `data:audio/x;base64,${Buffer.from(sampleFile(file)).toString('base64')}`;
    const response = await stack.ask('POST', '/v1/jobs', { type: 'speech-to-text', input: { audio } });
    return ((await response.json()) as { id: string }).id;
  };
  const statusOf = async (id: string): Promise<string> =>
    ((await (await stack.ask('GET', `/v1/jobs/${id}`)).json()) as Job).status;
  const metrics = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();

  const decoding = await post('formats/en_circle.mp3');
  await expect.poll(metrics).toContain('lehr_waveform_bytes 57');
  const waiting = await post('speech/en_circle.wav');
  const picture = await stack.post();
  expect((await stack.over(picture.id)).status).toBe('succeeded');
  expect(await statusOf(waiting)).toBe('queued');
  await stack.ask('POST', `/v1/jobs/${decoding}/cancel`);
  expect((await stack.over(waiting)).status).toBe('succeeded');
  await expect.poll(metrics).toContain('lehr_waveform_bytes 0');
});

test('lehr doctor checks ffmpeg where speech is served', async () => {
  const program = fileURLToPath(new URL('../../apps/worker/dist/programs/doctor/main.js', import.meta.url));
  const models = await speechModels();
  const ffmpegCheck = async (more: Record<string, string>): Promise<object | undefined> => {
    const env = { ...process.env, LEHR_REDIS_URL: redis.url, LEHR_MODELS: models, ...more };
    const { stdout } = await promisify(execFile)(process.execPath, [program, '--skip-models'], { env });
    const checks = stdout.trim().split('\n');
    return checks.map((line) => JSON.parse(line) as { name: string }).find(({ name }) => name === 'ffmpeg');
  };
  const detail = expect.stringMatching(/^version \S+ decodes audio$/);
  expect(await ffmpegCheck({})).toMatchObject({ state: 'ok', detail });
  expect(await ffmpegCheck(NO_PROGRAMS)).toMatchObject({
    state: 'fail',
    detail: MISSING,
    advice: expect.stringContaining('sudo apt-get install ffmpeg'),
  });
  expect(await ffmpegCheck({ ...NO_PROGRAMS, LEHR_TASKS: 'diffusion' })).toBeUndefined();
});
