import { expect, test } from 'vitest';
import { chooseRun, MAX_PADDING, type RunSample, type RunState } from './choose-run.ts';

interface Text {
  readonly length: number;
  readonly job: string;
}

interface JobFields {
  readonly lengths: readonly number[];
  readonly tokensRun?: number;
  readonly arrivedAt?: number;
  readonly maxBatchMates?: number;
}

const job = (name: string, fields: JobFields): RunSample<Text> => ({
  waiting: [...fields.lengths].sort((a, b) => a - b).map((length) => ({ length, job: name })),
  tokensRun: fields.tokensRun ?? 0,
  arrivedAt: fields.arrivedAt ?? 0,
  maxBatchMates: fields.maxBatchMates ?? Number.MAX_SAFE_INTEGER,
});

const choose = (samples: readonly RunSample<Text>[], state: Partial<RunState<Text>> = {}): Text[] =>
  chooseRun({
    samples,
    budget: 256,
    freeTokens: 0,
    maxTexts: Number.POSITIVE_INFINITY,
    tokensPerS: 1000,
    now: 0,
    ...state,
  });

const lengths = (texts: readonly Text[]): number[] => texts.map(({ length }) => length).sort((a, b) => a - b);

test('Texts of several jobs and of similar length share a run', () => {
  const run = choose([
    job('a', { lengths: [20, 21] }),
    job('b', { lengths: [22] }),
    job('c', { lengths: [90] }),
  ]);
  expect(lengths(run)).toEqual([20, 21, 22]);
  expect(new Set(run.map((text) => text.job))).toEqual(new Set(['a', 'b']));
});

test('Padding is at most a tenth of a run, whatever lengths wait', () => {
  const all = Array.from({ length: 200 }, (_, i) => 4 + ((i * 37) % 253));
  let waiting = job('a', { lengths: all });
  let ran = 0;
  while (waiting.waiting.length > 0) {
    const run = choose([waiting]);
    const longest = Math.max(...run.map(({ length }) => length));
    const tokens = run.reduce((sum, { length }) => sum + length, 0);
    expect(longest * run.length - tokens).toBeLessThanOrEqual(MAX_PADDING * longest * run.length);
    expect(longest * run.length).toBeLessThanOrEqual(Math.max(256, longest));
    ran += run.length;
    waiting = { ...waiting, waiting: waiting.waiting.filter((text) => !run.includes(text)) };
  }
  expect(ran).toBe(200);
});

test('A short text goes before a long one that arrived earlier', () => {
  expect(
    lengths(choose([job('long', { lengths: [250], arrivedAt: -20 }), job('short', { lengths: [8] })])),
  ).toEqual([8]);
});

test('A long text goes once it has waited for as long as the shorter ones took', () => {
  const long = job('long', { lengths: [250], arrivedAt: -600 });
  expect(lengths(choose([long, job('short', { lengths: [8] })]))).toEqual([250]);
});

test('A job of thousands of texts that has run for long does not hold the text of another job', () => {
  const many = job('many', { lengths: Array.from({ length: 2000 }, () => 16), tokensRun: 3200 });
  const run = choose([many, job('one', { lengths: [40] })]);
  expect(run[0].job).toBe('one');
});

test('A text of more tokens than the budget runs alone', () => {
  expect(lengths(choose([job('a', { lengths: [500, 500] })]))).toEqual([500]);
});

test('A run has at most as many jobs as any of its jobs allows', () => {
  const suspect = job('suspect', { lengths: [10, 10], maxBatchMates: 1 });
  expect(new Set(choose([suspect, job('b', { lengths: [10] })]).map((text) => text.job)).size).toBe(1);
  const pair = job('pair', { lengths: [10], maxBatchMates: 2 });
  const others = [job('b', { lengths: [10, 10] }), job('c', { lengths: [10] })];
  expect(new Set(choose([pair, ...others]).map((text) => text.job)).size).toBe(2);
});

test('Where a wider run takes no longer, padding is no reason to leave a text out', () => {
  const samples = [job('a', { lengths: [4] }), job('b', { lengths: [30] })];
  expect(lengths(choose(samples, { freeTokens: 64 }))).toEqual([4, 30]);
  expect(lengths(choose(samples))).toEqual([4]);
});

test('Without waiting texts there is no run', () => {
  expect(choose([job('a', { lengths: [] })])).toEqual([]);
});
