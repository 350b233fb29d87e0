import type { Job } from '@lehr/client';
import { expect, test } from 'vitest';
import { withEdits } from './edits.ts';

const JOB = {
  output: {
    text: 'a read circle on blue',
    language: 'en',
    segments: [
      { id: 0, start: 0, end: 1, text: ' a read circle' },
      { id: 1, start: 1, end: 2, text: ' on blue' },
    ],
    words: [{ word: 'a', start: 0, end: 0.2 }],
  },
} as unknown as Job;

test('A transcript without corrections is the job as it is', () => {
  expect(withEdits(JOB, {})).toBe(JOB);
});

test('Corrected segments change the text and keep their times, and the times of words are left out', () => {
  const { output } = withEdits(JOB, { 0: 'a red circle' });
  expect(output).toMatchObject({
    text: 'a red circle on blue',
    language: 'en',
    segments: [
      { id: 0, start: 0, end: 1, text: 'a red circle' },
      { id: 1, start: 1, end: 2, text: ' on blue' },
    ],
  });
  expect(output).not.toHaveProperty('words');
  expect(withEdits(JOB, { 1: '' }).output?.text).toBe('a read circle');
});
