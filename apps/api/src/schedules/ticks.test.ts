import { expect, test } from 'vitest';
import { dueTicks, nextTick, nextTicks, type Timing } from './ticks.ts';

const NIGHTLY: Timing = { cron: '30 2 * * *', timezone: 'Europe/Berlin' };
const at = (time: string): number => Date.parse(time);
const shown = (ticks: readonly number[]): string[] => ticks.map((each) => new Date(each).toISOString());

test('A nightly time that a spring night skips comes an hour later by the clock on the wall, once', () => {
  expect(shown(nextTicks(NIGHTLY, at('2026-03-28T02:00:00Z'), 2))).toEqual([
    '2026-03-29T01:30:00.000Z',
    '2026-03-30T00:30:00.000Z',
  ]);
});

test('A nightly time that an autumn night has twice comes once, and an hourly one comes in both hours', () => {
  expect(shown(nextTicks(NIGHTLY, at('2026-10-24T12:00:00Z'), 2))).toEqual([
    '2026-10-25T00:30:00.000Z',
    '2026-10-26T01:30:00.000Z',
  ]);
  const hourly = { cron: '0 * * * *', timezone: 'Europe/Berlin' };
  expect(shown(nextTicks(hourly, at('2026-10-24T23:30:00Z'), 3))).toEqual([
    '2026-10-25T00:00:00.000Z',
    '2026-10-25T01:00:00.000Z',
    '2026-10-25T02:00:00.000Z',
  ]);
});

test('The times that are due are the last of those that come one after the other, also across a change of the clocks', () => {
  const crons = ['30 2 * * *', '*/30 2 * * *', '0 * * * *', '0 0 1 * *'];
  const timings: Timing[] = crons.map((cron) => ({ cron, timezone: 'Europe/Berlin' }));
  timings.push({ everyMs: 5_400_000, since: at('2026-10-01T00:00:00Z') });
  for (const timing of timings) {
    const first = nextTick(timing, at('2026-10-20T12:00:00Z'));
    const now = at('2026-11-04T03:00:00Z');
    const all = nextTicks(timing, first - 1, 500).filter((each) => each <= now);
    for (const count of [1, 3, 100]) expect(dueTicks(timing, first, now, count)).toEqual(all.slice(-count));
    expect(dueTicks(timing, first, first, 100)).toEqual([first]);
    expect(dueTicks(timing, first, first - 1, 100)).toEqual([]);
  }
});

test.each(['0 0 * *', '* * * * * *', '61 0 * * *', 'H 2 * * *', '0 0 30 2 *'])(
  'The expression `%s` is refused',
  (cron) => {
    expect(() => nextTick({ cron, timezone: 'UTC' }, 0)).toThrow();
  },
);
