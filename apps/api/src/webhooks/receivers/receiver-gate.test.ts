import { expect, test } from 'vitest';
import { type ManualClock, manualClock } from '../../../../../test/support/manual-clock.ts';
import { type Entry, ReceiverGate } from './receiver-gate.ts';

type Slot = Extract<Entry, { leave: unknown }>;

function world(maxPerReceiver = 32): {
  gate: ReceiverGate;
  clock: ManualClock;
  pass: (ms: number) => Promise<void>;
} {
  const clock = manualClock();
  const gate = new ReceiverGate({ maxPerReceiver, clock });
  return { gate, clock, pass: (ms) => clock.until(clock.sleep(ms)) };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Enters `count` deliveries one after the other. Each result is added as soon as it is known. */
async function enter(
  gate: ReceiverGate,
  count: number,
  name = 'a',
): Promise<{ slots: Slot[]; waits: number[] }> {
  const results = { slots: [] as Slot[], waits: [] as number[] };
  for (let i = 0; i < count; i++) {
    void gate.enter(name).then((entry) => {
      if ('leave' in entry) results.slots.push(entry);
      else results.waits.push(entry.waitMs);
    });
  }
  await settled();
  return results;
}

/** Fills all slots, keeps them for `ms` and leaves them. Returns how many there were. */
async function round({ gate, pass }: ReturnType<typeof world>, ms: number, ok: boolean): Promise<number> {
  const slots: Slot[] = [];
  for (;;) {
    const [slot] = (await enter(gate, 1)).slots;
    if (!slot) break;
    slots.push(slot);
  }
  await pass(ms);
  for (const { leave } of slots) leave(ok);
  return slots.length;
}

test('A new receiver has eight slots, and gets more while it is quick, up to the maximum', async () => {
  const each = world(20);
  // The delivery that found no free slot gets one when others leave, and keeps it.
  expect(await round(each, 50, true)).toBe(8);
  expect(await round(each, 50, true)).toBe(15);
  expect(await round(each, 50, true)).toBe(18);
});

test('A failing receiver gets fewer slots, down to one, and a slow receiver gets no more', async () => {
  const failing = world();
  const { slots } = await enter(failing.gate, 8);
  for (const { leave } of slots) leave(false);
  expect((await enter(failing.gate, 8)).slots).toHaveLength(1);

  const slow = world();
  const first = await enter(slow.gate, 8);
  await slow.pass(3000);
  for (const { leave } of first.slots) leave(true);
  expect((await enter(slow.gate, 20)).slots).toHaveLength(8);
});

test('Receivers do not share slots', async () => {
  const { gate } = world();
  await enter(gate, 8, 'a');
  expect((await enter(gate, 8, 'b')).slots).toHaveLength(8);
});

test('Deliveries that wait for a slot get one as soon as it is free, in order', async () => {
  const { gate } = world();
  const { slots } = await enter(gate, 8);
  const order: number[] = [];
  for (let i = 0; i < 3; i++) void gate.enter('a').then(() => order.push(i));
  await settled();
  expect(order).toEqual([]);
  slots[0].leave(false);
  slots[1].leave(false);
  await settled();
  // Each failure halves the number of slots, so more must become free first.
  expect(order).toEqual([]);
  for (const { leave } of slots.slice(2, 8)) leave(true);
  await settled();
  expect(order).toEqual([0, 1, 2]);
});

test('A delivery that waits too long is delayed, and so is one that finds too many waiting', async () => {
  const { gate, pass } = world();
  await enter(gate, 8);
  const results = await enter(gate, 40);
  expect(results.waits).toHaveLength(8);
  await pass(4990);
  expect(results.waits).toHaveLength(8);
  await pass(20);
  expect(results.waits).toHaveLength(40);
});

test('Delayed deliveries are spread evenly, by the time the receiver takes', async () => {
  const { gate, pass } = world();
  await enter(gate, 8 + 32);
  const first = (await enter(gate, 100)).waits;
  expect(Math.min(...first)).toBe(20);
  expect(Math.max(...first)).toBe(125);
  await pass(4000);
  const later = (await enter(gate, 5)).waits;
  expect(later).toEqual([250, 500, 750, 1000, 1250]);
  await pass(60_000);
  await enter(gate, 32);
  expect(Math.max(...(await enter(gate, 100)).waits)).toBe(30_000);
});

test('A gate that closes rejects all that wait and all that come later', async () => {
  const { gate } = world();
  const { slots } = await enter(gate, 8);
  const waiting = await enter(gate, 3);
  gate.close();
  await settled();
  expect(waiting.waits).toEqual([0, 0, 0]);
  for (const { leave } of slots) leave(true);
  expect((await enter(gate, 1)).waits).toEqual([0]);
});

test('A gate with very many receivers forgets the idle ones and keeps the busy ones', async () => {
  const { gate } = world();
  await enter(gate, 8, 'busy');
  for (let i = 0; i < 12_000; i++) {
    const entry = await gate.enter(`receiver ${i}`);
    if ('leave' in entry) entry.leave(false);
  }
  expect((await enter(gate, 1, 'busy')).slots).toEqual([]);
});
