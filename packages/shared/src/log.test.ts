import { expect, test } from 'vitest';
import { createLog, type Log, type LogOptions } from './log.ts';

/** A log, and the lines it has written, parsed. */
function logOf(options: Omit<LogOptions, 'destination'> = {}): {
  log: Log;
  lines: Record<string, unknown>[];
} {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  return { log: createLog('test', 'info', { ...options, destination }), lines };
}

test('A prompt is logged as its length and a short hash, also by a child', () => {
  const { log, lines } = logOf();
  log.info({ prompt: 'a red circle' }, 'job started');
  log.child({ worker: 'w1' }).warn({ prompt: 'a red circle' }, 'job started');
  const hidden = { length: 12, sha256: 'a1e4a280d27c' };
  expect(lines).toMatchObject([{ prompt: hidden }, { prompt: hidden, worker: 'w1' }]);
});

test('With LEHR_LOG_PROMPTS a prompt is logged in clear', () => {
  const { log, lines } = logOf({ logPrompts: true });
  log.info({ prompt: 'a red circle' }, 'job started');
  expect(lines).toMatchObject([{ prompt: 'a red circle', msg: 'job started' }]);
});

test('A line without a prompt has no such field', () => {
  const { log, lines } = logOf();
  log.info({ job: 'job_1', prompt: undefined }, 'job started');
  expect(lines[0]).not.toHaveProperty('prompt');
});

test('Fields named like a secret are redacted at the top of a line and one level below', () => {
  const { log, lines } = logOf();
  log.info({ apiKey: 'hunter2', request: { authorization: 'Bearer hunter2' } }, 'x');
  expect(JSON.stringify(lines)).not.toContain('hunter2');
});

test('A line break in a field does not start another line', () => {
  const written: string[] = [];
  const log = createLog('test', 'info', { destination: { write: (line) => void written.push(line) } });
  log.info({ model: 'x\n{"level":"error"}' }, 'asked');
  expect(written).toHaveLength(1);
  expect(written[0].trimEnd()).not.toContain('\n');
});
