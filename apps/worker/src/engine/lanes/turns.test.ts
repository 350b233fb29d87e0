import { expect, test } from 'vitest';
import { isBulkNext, MAX_PAUSE_MS, Turns, type TurnTaker } from './turns.ts';

const taker = (hasWork = true): TurnTaker & { hasWork: boolean } => ({ hasWork, takeTurn: async () => {} });

test('No turn is given when none has work', () => {
  expect(new Turns().next([taker(false)])).toBeUndefined();
});

test('Device time is shared equally, however long each turn takes', () => {
  const turns = new Turns();
  const slow = taker();
  const fast = taker();
  const usedMs = new Map([
    [slow, 0],
    [fast, 0],
  ]);
  for (let i = 0; i < 200; i++) {
    const chosen = turns.next([slow, fast]) as typeof slow;
    const ms = chosen === slow ? 40 : 10;
    turns.charge(chosen, ms);
    usedMs.set(chosen, (usedMs.get(chosen) ?? 0) + ms);
  }
  expect(Math.abs((usedMs.get(slow) ?? 0) - (usedMs.get(fast) ?? 0))).toBeLessThanOrEqual(40);
});

test('Time spent idle gives no claim to more turns later', () => {
  const turns = new Turns();
  const busy = taker();
  const idle = taker(false);
  for (let i = 0; i < 100; i++) turns.charge(turns.next([busy, idle]) as TurnTaker, 10);
  idle.hasWork = true;
  const order = [];
  for (let i = 0; i < 6; i++) {
    const chosen = turns.next([busy, idle]) as TurnTaker;
    turns.charge(chosen, 10);
    order.push(chosen === busy ? 'busy' : 'idle');
  }
  expect(order.filter((name) => name === 'busy').length).toBeGreaterThanOrEqual(2);
});

test('Who lets others pass never takes two turns in a row while others have work, however short its turns are', () => {
  const turns = new Turns();
  const lane = taker();
  const decoding = { ...taker(), letsOthersPass: true };
  const order: string[] = [];
  for (let i = 0; i < 12; i++) {
    if (i === 8) lane.hasWork = false;
    const chosen = turns.next([lane, decoding]) as TurnTaker;
    turns.charge(chosen, chosen === lane ? 250 : 50);
    order.push(chosen === lane ? 'lane' : 'decoding');
  }
  expect(order.join(' ')).not.toMatch(/decoding decoding.*lane/);
  expect(order.slice(8)).toEqual(new Array(4).fill('decoding'));
});

test('Bulk work pauses while other work waits, and for a limited time only', () => {
  expect(isBulkNext(true, false, 0)).toBe(true);
  expect(isBulkNext(true, true, MAX_PAUSE_MS - 1)).toBe(false);
  expect(isBulkNext(true, true, MAX_PAUSE_MS)).toBe(true);
  expect(isBulkNext(false, true, MAX_PAUSE_MS)).toBe(false);
});
