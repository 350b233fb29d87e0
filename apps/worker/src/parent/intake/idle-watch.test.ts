import { expect, test } from 'vitest';
import { createLog } from '../../../../../packages/shared/src/index.ts';
import type { GroupHead } from '../../../../../packages/shared/src/queue/index.ts';
import { manualClock } from '../../../../../test/support/manual-clock.ts';
import { IdleWatch, type IdleWatchOptions } from './idle-watch.ts';

const IDLE_MS = 60_000;
const CHECKS = 12;

/** Whether the watch calls the worker stuck within twenty checks. `turn` runs at each check, with the number of the check. */
async function isStuck(
  parts: Partial<Pick<IdleWatchOptions, 'room' | 'isIdle' | 'claims'>> = {},
  headAt: (check: number, now: number) => Partial<GroupHead> | undefined = (_, now) => ({ waitedMs: now }),
): Promise<number | undefined> {
  const clock = manualClock();
  let checks = 0;
  return clock.until(
    new Promise((resolve) => {
      const watch: IdleWatch = new IdleWatch({
        clock,
        log: createLog('worker', 'silent'),
        idleMs: IDLE_MS,
        heads: async () => {
          const head = headAt(checks, clock.now());
          const usual = { queue: 'a', waiting: 1, priority: 'standard', waitedMs: 0, costMs: 100 } as const;
          return head ? [{ ...usual, ...head }] : [];
        },
        room: () => ({ freeRows: 4, running: false }),
        isIdle: () => true,
        claims: () => 0,
        onStuck: () => resolve(checks),
        ...parts,
      });
      watch.start();
      const count = async (): Promise<void> => {
        for (; checks < 20; checks++) await clock.sleep(IDLE_MS / CHECKS);
        watch.stop();
        resolve(undefined);
      };
      void count();
    }),
  );
}

test('A worker is stuck when it was idle for the whole time while the same job waited', async () => {
  expect(await isStuck()).toBeGreaterThanOrEqual(CHECKS - 1);
});

test('A worker that has claimed a job, has no room or may not claim is not stuck', async () => {
  let claims = 0;
  expect(
    await isStuck({
      claims: () => {
        claims += 1;
        return claims;
      },
    }),
  ).toBeUndefined();
  expect(await isStuck({ room: () => ({ freeRows: 0, running: true }) })).toBeUndefined();
  expect(await isStuck({ isIdle: () => false })).toBeUndefined();
});

test('A worker is not stuck while other workers claim the jobs that it sees, or Redis does not answer', async () => {
  expect(await isStuck({}, () => ({ waitedMs: 40 }))).toBeUndefined();
  expect(
    await isStuck({}, () => {
      throw new Error('no answer');
    }),
  ).toBeUndefined();
});
