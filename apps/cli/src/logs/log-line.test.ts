import { expect, test } from 'vitest';
import { parseLogLine, readableLine, shownLine } from './log-line.ts';

const time = '2026-11-22T05:28:29.123Z';
const event = { level: 'info', time, app: 'worker', pid: 7, msg: 'job succeeded' };
const shown = (fields: object): string => shownLine('worker', JSON.stringify({ ...event, ...fields }));

test('An event is shown as one line with its time, program, level, message and fields', () => {
  expect(shown({ job: 'job_1', attempt: 2, texts: ['a\nb'] })).toBe(
    '05:28:29.123  worker  info   job succeeded  job=job_1  attempt=2  texts=["a\\nb"]',
  );
});

test('lehr logs has long values whole', () => {
  const graph = 'x'.repeat(500);
  const line = parseLogLine(JSON.stringify({ ...event, graph }));
  expect(line && readableLine(line)).toContain(`graph=${graph}`);
});

test('npm start cuts long values, and the stack of an error has lines of its own', () => {
  expect(shown({ graphs: ['x'.repeat(500)] }).length).toBeLessThan(220);
  const error = { type: 'Error', message: 'broken', stack: 'Error: broken\n    at a (b.js:1:1)' };
  const [line, ...stack] = shown({ level: 'error', error }).split('\n');
  expect(line).toContain('error={"type":"Error","message":"broken"}');
  expect(stack).toEqual(['    at a (b.js:1:1)']);
});

test('No control character from a caller reaches the terminal', () => {
  const bad = 'a\u001b[2Jb\u0007c\u009b3Jd\r';
  const lines = [
    shown({ prompt: bad, nested: { prompt: bad }, msg: bad }),
    shown({ error: { message: bad, stack: bad } }),
    shownLine('worker', bad),
  ];
  for (const line of lines) expect(line).not.toMatch(/(?!\n)\p{Cc}/u);
});

test('The program of a line that is not JSON is named, and the line is shown as it is', () => {
  expect(shownLine('api', 'Segmentation fault')).toBe('api: Segmentation fault');
  expect(shownLine('api', '{broken')).toBe('api: {broken');
});
