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

test('What the graphs of an opened model report is logged whole, and deeper fields are left out', () => {
  const { log, lines } = logOf();
  const left = { 'the mask is computed': 2 };
  const graphs = [{ graph: 'unet', fusion: { attentions: 14, left, cuda: { operators: { GroupNorm: 3 } } } }];
  log.info({ graphs }, 'model opened');
  expect(lines).toMatchObject([{ graphs }]);
  log.info({ a: { b: { c: { d: { e: { f: { g: 1 } } } } } } }, 'deep');
  expect(JSON.stringify(lines[1])).toContain('"f":"[object]"');
});

test('Fields named like a secret are redacted at the top of a line and one level below', () => {
  const { log, lines } = logOf();
  log.info({ apiKey: 'hunter2', request: { authorization: 'Bearer hunter2' } }, 'x');
  expect(JSON.stringify(lines)).not.toContain('hunter2');
});

/** As ioredis makes them: the command with its arguments is a property of the error. */
const withCommand = <E extends Error>(error: E): E =>
  Object.assign(error, { command: { name: 'hset', args: ['record', 'canary'] }, code: 'E1' });

test('Of an error only its type, message, stack, code and causes are logged', () => {
  const { log, lines } = logOf();
  const cause = withCommand(new TypeError('below', { cause: withCommand(new Error('deepest')) }));
  log.info({ error: withCommand(new Error('on top', { cause })) }, 'x');
  const stack = expect.stringContaining('log.test.ts');
  expect(lines[0].error).toEqual({
    type: 'Error',
    message: 'on top',
    stack,
    code: 'E1',
    cause: {
      type: 'TypeError',
      message: 'below',
      stack,
      code: 'E1',
      cause: { type: 'Error', message: 'deepest', stack, code: 'E1' },
    },
  });
});

test('No field and no child logs more of an error, nor do the errors that it collects', () => {
  const { log, lines } = logOf();
  const error = withCommand(new Error('broken'));
  log.info({ failed: error, list: [{ reason: error }] }, 'x');
  log.child({ error }).info({ err: error }, 'x');
  log.info({ error: withCommand(new AggregateError([error, 'canary'], 'two')) }, 'x');
  log.info({ error: Object.assign(new Error('broken'), { cause: { text: 'canary' } }) }, 'x');
  log.info({ a: { b: { c: { d: { error } } } } }, 'x');
  expect(JSON.stringify(lines)).not.toContain('canary');
  expect(lines[2].error).toMatchObject({ errors: [{ message: 'broken' }] });
});

test('A chain of causes without an end is logged up to a depth', () => {
  const { log, lines } = logOf();
  const error = new Error('round');
  error.cause = error;
  log.info({ error }, 'x');
  expect(JSON.stringify(lines).split('"round"').length).toBeLessThan(10);
});

test('A message that quotes a value is logged without the value', () => {
  const { log, lines } = logOf();
  const parse = (text: string): unknown => {
    try {
      return JSON.parse(text);
    } catch (error) {
      return error;
    }
  };
  const unknown = "ERR unknown command 'FOO', with args beginning with: 'canary' 'canary'";
  for (const error of [new Error(unknown), parse('canary'), parse(`["${'x'.repeat(50)}", canary]`)]) {
    expect(error).toBeInstanceOf(Error);
    log.info({ error }, 'x');
  }
  expect(JSON.stringify(lines)).not.toContain('canary');
  expect(lines[0].error).toMatchObject({ message: "ERR unknown command 'FOO'" });
  expect(lines[1].error).toMatchObject({ message: expect.stringContaining('is not valid JSON') });
});

test('A line break in a field does not start another line', () => {
  const written: string[] = [];
  const log = createLog('test', 'info', { destination: { write: (line) => void written.push(line) } });
  log.info({ model: 'x\n{"level":"error"}' }, 'asked');
  expect(written).toHaveLength(1);
  expect(written[0].trimEnd()).not.toContain('\n');
});
