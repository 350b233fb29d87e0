import { expect, test } from 'vitest';
import { type HeldClock, heldClock } from '../../../../test/support/held-clock.ts';
import { type Entry, ReceiverGate } from './receiver-gate.ts';

type Place = Extract<Entry, { leave: unknown }>;

function world(maxPerReceiver = 32): {
  gate: ReceiverGate;
  clock: HeldClock;
  pass: (ms: number) => Promise<void>;
} {
  const clock = heldClock();
  const gate = new ReceiverGate({ maxPerReceiver, clock });
  return { gate, clock, pass: (ms) => clock.until(clock.sleep(ms)) };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** So many ask, one after the other; what they are told stands here when they are told it. */
async function ask(
  gate: ReceiverGate,
  count: number,
  name = 'a',
): Promise<{ places: Place[]; waits: number[] }> {
  const told = { places: [] as Place[], waits: [] as number[] };
  for (let i = 0; i < count; i++) {
    void gate.enter(name).then((entry) => {
      if ('leave' in entry) told.places.push(entry);
      else told.waits.push(entry.waitMs);
    });
  }
  await settled();
  return told;
}

/** How many get in at once; they take so long, and leave. */
async function round({ gate, pass }: ReturnType<typeof world>, ms: number, ok: boolean): Promise<number> {
  const places: Place[] = [];
  for (;;) {
    const before = places.length;
    const [entry] = (await ask(gate, 1)).places;
    if (entry) places.push(entry);
    if (places.length === before) break;
  }
  await pass(ms);
  for (const { leave } of places) leave(ok);
  return places.length;
}

test('a stranger gets eight at once, and more as long as it is quick, up to the most there are', async () => {
  const each = world(20);
  // Whoever found no room is let in as others leave, and stays.
  expect(await round(each, 50, true)).toBe(8);
  expect(await round(each, 50, true)).toBe(15);
  expect(await round(each, 50, true)).toBe(18);
});

test('one that fails gets fewer, down to one; one that is slow gets no more', async () => {
  const failing = world();
  const { places } = await ask(failing.gate, 8);
  for (const { leave } of places) leave(false);
  expect((await ask(failing.gate, 8)).places).toHaveLength(1);

  const slow = world();
  const first = await ask(slow.gate, 8);
  await slow.pass(3000);
  for (const { leave } of first.places) leave(true);
  expect((await ask(slow.gate, 20)).places).toHaveLength(8);
});

test('receivers do not share their room', async () => {
  const { gate } = world();
  await ask(gate, 8, 'a');
  expect((await ask(gate, 8, 'b')).places).toHaveLength(8);
});

test('who finds no room is let in as soon as there is some, in order', async () => {
  const { gate } = world();
  const { places } = await ask(gate, 8);
  const order: number[] = [];
  for (let i = 0; i < 3; i++) void gate.enter('a').then(() => order.push(i));
  await settled();
  expect(order).toEqual([]);
  places[0].leave(false);
  places[1].leave(false);
  await settled();
  // Each failure has halved the room, so nobody is let in before it is empty enough.
  expect(order).toEqual([]);
  for (const { leave } of places.slice(2, 8)) leave(true);
  await settled();
  expect(order).toEqual([0, 1, 2]);
});

test('who waits too long is sent away, and so are those for whom there is no room to wait', async () => {
  const { gate, pass } = world();
  await ask(gate, 8);
  const told = await ask(gate, 40);
  expect(told.waits).toHaveLength(8);
  await pass(4990);
  expect(told.waits).toHaveLength(8);
  await pass(20);
  expect(told.waits).toHaveLength(40);
});

test('those sent away come back spread out: soon to a quick one, later the longer it has been at it', async () => {
  const { gate, pass } = world();
  await ask(gate, 8 + 32);
  const strangers = (await ask(gate, 100)).waits;
  expect(Math.min(...strangers)).toBe(20);
  expect(Math.max(...strangers)).toBe(125);
  await pass(4000);
  const later = (await ask(gate, 5)).waits;
  expect(later).toEqual([250, 500, 750, 1000, 1250]);
  await pass(60_000);
  await ask(gate, 32);
  expect(Math.max(...(await ask(gate, 100)).waits)).toBe(30_000);
});

test('a gate that closes sends everybody away and lets nobody in', async () => {
  const { gate } = world();
  const { places } = await ask(gate, 8);
  const waiting = await ask(gate, 3);
  gate.close();
  await settled();
  expect(waiting.waits).toEqual([0, 0, 0]);
  for (const { leave } of places) leave(true);
  expect((await ask(gate, 1)).waits).toEqual([0]);
});

test('a gate that has seen very many receivers forgets those at rest, and none that is busy', async () => {
  const { gate } = world();
  await ask(gate, 8, 'busy');
  for (let i = 0; i < 12_000; i++) {
    const entry = await gate.enter(`receiver ${i}`);
    if ('leave' in entry) entry.leave(false);
  }
  expect((await ask(gate, 1, 'busy')).places).toEqual([]);
});
