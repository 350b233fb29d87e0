import { newJobId } from '@lehr/shared';
import { expect, test } from 'vitest';
import { webhookId } from './message-id.ts';

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
