import { expect, test } from 'vitest';
import { type Station, Turns } from './turns.ts';

const station = (hasWork = true): Station & { hasWork: boolean } => ({ hasWork, turn: async () => {} });

test('nobody with work means no turn', () => {
  expect(new Turns().next([station(false)])).toBeUndefined();
});

test('device time is shared equally however long each turn takes', () => {
  const turns = new Turns();
  const slow = station();
  const fast = station();
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

test('a station that slept is not owed the time it slept', () => {
  const turns = new Turns();
  const busy = station();
  const sleeper = station(false);
  for (let i = 0; i < 100; i++) turns.charge(turns.next([busy, sleeper]) as Station, 10);
  sleeper.hasWork = true;
  const order = [];
  for (let i = 0; i < 6; i++) {
    const chosen = turns.next([busy, sleeper]) as Station;
    turns.charge(chosen, 10);
    order.push(chosen === busy ? 'busy' : 'sleeper');
  }
  expect(order.filter((name) => name === 'busy').length).toBeGreaterThanOrEqual(2);
});
