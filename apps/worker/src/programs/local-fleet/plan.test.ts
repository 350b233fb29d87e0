import fc from 'fast-check';
import { expect, test } from 'vitest';
import { afterEnd, type FleetState, type Member, NO_ENDS, planFleet, RESTARTS } from './plan.ts';

let order = 0;
const member = (slot: number, fields: Partial<Member> = {}): Member => {
  order += 1;
  return { slot, generation: 0, state: 'serving', jobs: 0, order, ...fields };
};
const plan = (wanted: number, members: readonly Member[], fields: Partial<FleetState<Member>> = {}) =>
  planFleet({ wanted, slots: 4, members, generation: 0, paused: new Set(), resting: new Set(), ...fields });

test('Workers are started in free slots, at most as many as there are', () => {
  expect(plan(2, [])).toEqual({ start: [0, 1], drain: [] });
  expect(plan(3, [member(1)])).toEqual({ start: [0, 2], drain: [] });
  expect(plan(9, [])).toEqual({ start: [0, 1, 2, 3], drain: [] });
});

test('The slot of a worker that drains is free only when that worker has ended', () => {
  expect(plan(4, [member(0, { state: 'draining', jobs: 3 }), member(1)])).toEqual({
    start: [2, 3],
    drain: [],
  });
});

test('Workers that do not serve yet stop first, then those with the fewest jobs, then the newest', () => {
  const [busy, idle, newer] = [member(0, { jobs: 5 }), member(1), member(2)];
  const starting = member(3, { state: 'starting' });
  const unknown = member(3, { jobs: undefined });
  expect(plan(2, [busy, idle, newer, starting]).drain).toEqual([starting, newer]);
  expect(plan(1, [busy, idle, unknown]).drain).toEqual([idle, unknown]);
  expect(plan(0, [busy, idle]).drain).toEqual([idle, busy]);
});

test('A slot in a pause keeps its place, and one that rests is replaced by another one', () => {
  expect(plan(2, [member(0)], { paused: new Set([1]) }).start).toEqual([]);
  expect(plan(2, [member(0)], { resting: new Set([1]) }).start).toEqual([2]);
});

test('A new version starts beside the old one, which drains only when the new one serves', () => {
  const old = [member(0), member(1)];
  const generation = 1;
  expect(plan(2, old, { generation })).toEqual({ start: [2], drain: [] });
  const starting = member(2, { generation, state: 'starting' });
  expect(plan(2, [...old, starting], { generation })).toEqual({ start: [], drain: [] });
  const serving = member(2, { generation });
  expect(plan(2, [...old, serving], { generation })).toEqual({ start: [], drain: [old[1]] });
  // With all slots in use, on the card of an old one.
  const all = [member(0), member(1), member(2), member(3)];
  expect(plan(4, all, { generation })).toEqual({ start: [0], drain: [] });
});

const anyMembers = fc.array(
  fc.record({
    slot: fc.integer({ min: 0, max: 3 }),
    generation: fc.integer({ min: 0, max: 2 }),
    state: fc.constantFrom('starting' as const, 'serving' as const, 'draining' as const),
    jobs: fc.option(fc.integer({ min: 0, max: 9 }), { nil: undefined }),
    order: fc.nat(),
  }),
  { maxLength: 8 },
);

test('As many workers as wanted serve during a change of version, if they did before it', () => {
  fc.assert(
    fc.property(anyMembers, fc.integer({ min: 0, max: 4 }), (members, wanted) => {
      const { start, drain } = plan(wanted, members, { generation: 2 });
      const serving = members.filter(({ state }) => state === 'serving');
      const left = serving.filter((each) => !drain.includes(each)).length;
      const oldLeft = members.some(({ generation, state }) => generation < 2 && state !== 'draining');
      if (oldLeft) expect(left).toBeGreaterThanOrEqual(Math.min(wanted, serving.length));
      // Nothing that drains is drained again, and no slot gets two workers of a version.
      expect(drain.every(({ state }) => state !== 'draining')).toBe(true);
      expect(new Set(start).size).toBe(start.length);
      const current = members.filter(({ generation }) => generation === 2).map(({ slot }) => slot);
      expect(start.some((slot) => current.includes(slot))).toBe(false);
    }),
  );
});

test('Following the plan ends with as many workers of the newest version as wanted, and nothing more to do', () => {
  fc.assert(
    fc.property(anyMembers, fc.integer({ min: 0, max: 4 }), (some, wanted) => {
      let members: Member[] = some;
      for (let round = 0; round < 40; round += 1) {
        const { start, drain } = plan(wanted, members, { generation: 2 });
        // What drains ends, and what starts serves in the next round.
        members = members
          .filter((each) => each.state !== 'draining' && !drain.includes(each))
          .map((each) => ({ ...each, state: 'serving' as const }));
        members.push(...start.map((slot) => member(slot, { generation: 2, state: 'starting' })));
      }
      expect(members).toHaveLength(wanted);
      expect(members.every(({ generation }) => generation === 2)).toBe(true);
    }),
  );
});

test('A worker that ends quickly is started later each time, and after too many times not for minutes', () => {
  let history = NO_ENDS;
  const pauses: number[] = [];
  for (let i = 0; i < RESTARTS.budget; i += 1) {
    history = afterEnd(history, { now: 1000, ranMs: 10 });
    pauses.push(history.notBefore - 1000);
  }
  expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 300_000]);
  expect(history.isResting).toBe(true);
  const late = afterEnd({ quickEnds: 4, notBefore: 0, isResting: false }, { now: 0, ranMs: 60_000 });
  expect(late.notBefore).toBe(500);
});
