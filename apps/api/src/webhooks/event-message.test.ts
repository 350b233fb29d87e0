import { newJobId } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import { expect, test } from 'vitest';
import { happenedAt, recordAtEvent, webhookId } from './event-message.ts';

const JOB = 'job_01jd3v9s6w0000000000000000' as ReturnType<typeof newJobId>;

test('A webhook id is a ULID computed from job and event', () => {
  expect(webhookId(JOB, 'job.succeeded')).toBe('msg_01JD3V9S6WHHV94M9VF3DM2S08');
  expect(webhookId(JOB, 'job.succeeded')).toMatch(/^msg_[0-9A-HJKMNP-TV-Z]{26}$/);
});

test('Different events have different webhook ids', () => {
  const ids = Array.from({ length: 1000 }, () => newJobId()).flatMap((job) => [
    webhookId(job, 'job.started'),
    webhookId(job, 'job.failed'),
    webhookId(job, 'job.progress', 3),
    webhookId(job, 'job.progress', 4),
  ]);
  expect(new Set(ids).size).toBe(4000);
});

const ENDED = {
  state: 'failed',
  id: 'job_01jd3v9s6w0000000000000000',
  tenant: 'default',
  attempt: 2,
  created_at: 1000,
  started_at: 2000,
  finished_at: 3000,
  expires_at: 9000,
  worker: 'w',
  error: { code: 'engine-failed', title: '', detail: '', retryable: true },
} as unknown as JobRecord;

test('The record at job.queued is queued and has no attempt, also when the job has ended', () => {
  const record = recordAtEvent(ENDED, 'job.queued');
  expect(record).toMatchObject({ state: 'queued', attempt: 0, created_at: 1000 });
  for (const name of ['started_at', 'finished_at', 'expires_at', 'worker', 'error']) {
    expect(record).not.toHaveProperty(name);
  }
  expect(happenedAt(record)).toBe(1000);
});

test('The record at job.started is running and has no end', () => {
  const record = recordAtEvent(ENDED, 'job.started');
  expect(record).toMatchObject({ state: 'running', started_at: 2000, worker: 'w' });
  for (const name of ['finished_at', 'expires_at', 'error']) expect(record).not.toHaveProperty(name);
  expect(happenedAt(record)).toBe(2000);
});

test('The record at job.started is running, also when the job is queued again', () => {
  const requeued = { ...recordAtEvent(ENDED, 'job.queued'), attempt: 1 } as JobRecord;
  expect(recordAtEvent(requeued, 'job.started')).toMatchObject({ state: 'running', started_at: 1000 });
});

test('The record at an end is unchanged', () => {
  expect(recordAtEvent(ENDED, 'job.failed')).toBe(ENDED);
  expect(happenedAt(ENDED)).toBe(3000);
});
