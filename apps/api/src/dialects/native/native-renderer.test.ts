import type { Job } from '@lehr/shared';
import { expect, test } from 'vitest';
import { SUCCEEDED_JOB } from '../../routes/examples.ts';
import { fitted } from './native-renderer.ts';

const bytesOf = (value: object): number => Buffer.byteLength(JSON.stringify(value));

const segments = Array.from({ length: 200 }, (_, id) => ({
  id,
  start: id,
  end: id + 1,
  text: 'Fire it slowly.',
  tokens: [50_364, 7_652],
  avg_logprob: -0.2,
  compression_ratio: 0.9,
  no_speech_prob: 0.02,
  temperature: 0,
  seek: 0,
}));

const transcribed = (text: string): Job => ({
  ...SUCCEEDED_JOB,
  type: 'speech-to-text',
  output: { text, language: 'en', duration: 200, segments } as Job['output'],
});

test('A job that fits is sent complete', () => {
  expect(fitted(SUCCEEDED_JOB)).toEqual(SUCCEEDED_JOB);
});

test('The segments of a long transcript are left out, and the text stays', () => {
  const job = fitted(transcribed('Fire it slowly. '.repeat(200)));
  expect(bytesOf(job)).toBeLessThanOrEqual(20_000);
  expect(job.left_out).toEqual(['output.segments']);
  expect(job.output?.text).toHaveLength(3200);
  expect(job.input).toEqual(SUCCEEDED_JOB.input);
});

test('The text of a very long transcript is left out after the input; links and metadata stay', () => {
  const job = fitted(transcribed('Fire it slowly. '.repeat(5000)));
  expect(bytesOf(job)).toBeLessThanOrEqual(20_000);
  expect(job.left_out).toEqual(['output.segments', 'input', 'output.text']);
  expect(job.output).toEqual({ language: 'en', duration: 200 });
  expect(job).toMatchObject({
    links: SUCCEEDED_JOB.links,
    metadata: SUCCEEDED_JOB.metadata,
    status: 'succeeded',
  });
});

test('`left_out` names only fields that the job had', () => {
  const metadata = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`${i}`, '☕'.repeat(500)]));
  const job = fitted({ ...SUCCEEDED_JOB, metadata });
  expect(job.left_out).toEqual(['input']);
  expect(job.metadata).toEqual(metadata);
});

test('A large result of a text job is left out of its webhooks, and its counts stay', () => {
  const texts: Job = {
    ...SUCCEEDED_JOB,
    type: 'text-embedding',
    output: { embeddings: [Array.from({ length: 20_000 }, () => 0.5)], dimensions: 20_000, tokens: 3 },
  };
  const { output, left_out } = fitted(texts);
  expect(output).toEqual({ dimensions: 20_000, tokens: 3 });
  expect(left_out).toContain('output.embeddings');
});
