/** Speech through the whole of Lehr: real processes, the demo Whisper, recorded voices. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Job } from '../../packages/shared/src/index.ts';
import { readEvents } from '../support/event-stream.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { speechModels } from '../support/speech-models.ts';
import { type Stack, startStack } from '../support/stack.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const SAMPLES = new URL('../golden/samples/speech/', import.meta.url);
const dataUri = async (name: string): Promise<string> =>
  `data:audio/wav;base64,${(await readFile(new URL(name, SAMPLES))).toString('base64')}`;

const listening = async (env: Record<string, string> = {}): Promise<Stack> =>
  startStack(server, { LEHR_MODELS: await speechModels(), ...env });

const submit = async (stack: Stack, request: object): Promise<Job> => {
  const response = await stack.ask('POST', '/v1/jobs', request);
  const body = (await response.json()) as Job;
  expect(response.status, JSON.stringify(body)).toBe(202);
  return body;
};

describe('speech to text', () => {
  test('a recorded sentence becomes its words, timed, with honest numbers', async () => {
    const stack = await listening();
    await stack.worker();
    const { id } = await submit(stack, {
      type: 'speech-to-text',
      input: { audio: await dataUri('en_circle.wav') },
    });
    const job = await stack.over(id);
    expect(job).toMatchObject({
      status: 'succeeded',
      model: 'ears@1',
      input: { audio: 'data:', task: 'transcribe', mode: 'sequential' },
      output: { text: expect.stringMatching(/a red circle on a blue background/i), language: 'en', task: 'transcribe' },
    });
    const { output, metrics } = job;
    expect(output?.duration).toBeCloseTo(2.37, 1);
    expect(output?.segments?.length).toBeGreaterThan(0);
    for (const { start, end } of output?.segments ?? []) expect(end).toBeGreaterThan(start);
    expect(output?.images).toBeUndefined();
    const timings = Object.values(metrics?.timings ?? {}) as number[];
    expect(timings.reduce((sum, each) => sum + each, 0)).toBe(metrics?.total_ms);
    expect(metrics?.audio_seconds).toBeCloseTo(2.37, 1);
  });
});
