import { expect, test, vi } from 'vitest';
import { manualClock } from '../../../../test/support/manual-clock.ts';
import { every } from './every.ts';

/** Runs `every` on a manual clock until the third round has begun, and records when each began. */
async function threeRounds(work: (round: number, signal: AbortSignal) => Promise<void>, firstMs?: number) {
  const clock = manualClock();
  const warn = vi.fn();
  const startedAt: number[] = [];
  let stop = async (): Promise<void> => {};
  await clock.until(
    new Promise<void>((resolve) => {
      stop = every(
        100,
        (signal) => {
          startedAt.push(clock.now());
          if (startedAt.length === 3) resolve();
          return work(startedAt.length, signal);
        },
        { clock, log: { warn }, failed: 'it failed', ...(firstMs !== undefined && { firstMs }) },
      );
    }),
  );
  return { warn, startedAt, stop };
}

test('Work is done again each time the interval has passed since its end', async () => {
  const { startedAt, stop } = await threeRounds(async () => {});
  await stop();
  expect(startedAt).toEqual([100, 200, 300]);
});

test('The first round can come at another time than the later ones', async () => {
  const { startedAt, stop } = await threeRounds(async () => {}, 5);
  await stop();
  expect(startedAt).toEqual([5, 105, 205]);
});

test('Work that fails is logged and done again', async () => {
  const error = new Error('down');
  const { warn, stop } = await threeRounds((round) =>
    round === 1 ? Promise.reject(error) : Promise.resolve(),
  );
  await stop();
  expect(warn.mock.calls).toEqual([[{ error }, 'it failed']]);
});

test('Stopping aborts the work under way and waits for its end', async () => {
  const events: string[] = [];
  const { startedAt, stop } = await threeRounds(async (round, signal) => {
    if (round < 3) return;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    events.push('work ended');
  });
  await stop();
  events.push('stopped');
  expect(events).toEqual(['work ended', 'stopped']);
  expect(startedAt).toHaveLength(3);
});
