import { expect, test } from 'vitest';

const { readableLine } = (await import(new URL('../../infra/local/log-line.mjs', import.meta.url).href)) as {
  readableLine(source: string, line: string): string;
};

const time = '2026-11-22T05:28:29.123Z';
const event = { level: 'info', time, app: 'worker', pid: 7, msg: 'job succeeded' };
/** Without the colours, which pino-pretty adds. */
const shown = (fields: object): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this expression removes colours
  readableLine('worker', JSON.stringify({ ...event, ...fields })).replace(/\u001b\[\d+m/g, '');

test('The launcher shows an event as one line with its time, level, program, message and fields', () => {
  expect(shown({ job: 'job_1', attempt: 2 })).toMatch(
    /^\[\d\d:28:29\] INFO: worker: job succeeded \{"job":"job_1","attempt":2\}$/,
  );
});

test('The launcher cuts long values and shows the stack of an error on its own lines', () => {
  expect(shown({ graphs: ['x'.repeat(500)] }).length).toBeLessThan(220);
  const error = { type: 'Error', message: 'broken', stack: 'Error: broken\n    at a (b.js:1:1)' };
  expect(shown({ level: 'error', error }).split('\n').length).toBeGreaterThan(3);
});

test('No control character from a caller reaches the terminal', () => {
  const bad = 'a\u001b[2Jb\u0007c\u009b3Jd\r';
  const lines = [
    shown({ prompt: bad, nested: { prompt: bad }, msg: bad }),
    shown({ error: { message: bad, stack: bad } }),
    readableLine('worker', bad),
  ];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for them
  for (const line of lines) expect(line).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
});

test('The launcher names the program of a line that is not JSON and leaves the line as it is', () => {
  expect(readableLine('api', 'Segmentation fault')).toBe('api: Segmentation fault');
  expect(readableLine('api', '{broken')).toBe('api: {broken');
});
