import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { NO_MEMORY, type PoolState, type ScaleMemory } from './decision.ts';
import { desiredWorkers } from './desired-workers.ts';
import { type ScalePolicy, ScalePolicySchema } from './policy.ts';

const policyOf = (fields: object = {}): ScalePolicy =>
  ScalePolicySchema.parse({ max: 8, start_s: 0, shrink_after_s: 60, zero_after_s: 120, ...fields });
/** Monday, 2026-11-23, 09:00 UTC. */
const MONDAY = Date.UTC(2026, 10, 23, 9);

const stateOf = (fields: Partial<PoolState> & { standardMs?: number } = {}): PoolState => ({
  atMs: MONDAY,
  waitingMs: { interactive: 0, standard: fields.standardMs ?? 0, bulk: 0 },
  running: 0,
  busy: 0,
  live: 0,
  ...fields,
});

test('The queue is divided by the target wait, and the answer says so in words', () => {
  expect(desiredWorkers(stateOf({ standardMs: 41_000 }), policyOf())).toMatchObject({
    desired: 3,
    reason: 'waiting',
    explanation: '3: 41 s of work waits, target 15 s',
  });
  const waitingMs = { interactive: 9_500, standard: 0, bulk: 100_000 };
  expect(desiredWorkers(stateOf({ waitingMs }), policyOf()).explanation).toBe(
    '2: 9.5 s of interactive work waits, target 5 s',
  );
});

test('A queue that is empty before a new worker could serve needs none', () => {
  const state = stateOf({ standardMs: 41_000, live: 1, running: 1, busy: 1 });
  expect(desiredWorkers(state, policyOf({ start_s: 30 })).explanation).toBe(
    '1: 41 s of work waits (11 s when a new worker serves), target 15 s, starts take 30 s',
  );
  expect(desiredWorkers(state, policyOf({ start_s: 90 }))).toMatchObject({ desired: 1, reason: 'running' });
});

test('A measured start counts and not the configured one', () => {
  const state = stateOf({ standardMs: 41_000, live: 1, startMs: 1_000 });
  expect(desiredWorkers(state, policyOf({ start_s: 90 })).desired).toBe(3);
});

test('The slower a start is, the earlier a growing queue is answered', () => {
  const wantedWith = (startS: number): number => {
    let memory: ScaleMemory = NO_MEMORY;
    let desired = 0;
    // Work for 3 workers arrives, and 2 serve.
    for (let second = 0; second <= 30; second += 5) {
      const state = stateOf({
        atMs: MONDAY + second * 1000,
        standardMs: second * 1000,
        live: 2,
        running: 2,
        busy: 2,
      });
      ({ desired, memory } = desiredWorkers(state, policyOf({ start_s: startS, max: 50 }), memory));
    }
    return desired;
  };
  expect(wantedWith(120)).toBeGreaterThan(wantedWith(10));
});

test('One job that arrives just after a look at the pool is no stream of jobs', () => {
  const { memory } = desiredWorkers(stateOf(), policyOf());
  const justAfter = stateOf({ atMs: MONDAY + 20, standardMs: 3_000 });
  expect(desiredWorkers(justAfter, policyOf(), memory).explanation).toBe('1: 3 s of work waits, target 15 s');
});

test('Running work keeps its workers, and a pool with a running job is never scaled to zero', () => {
  expect(desiredWorkers(stateOf({ running: 9, busy: 2.2, live: 4 }), policyOf())).toMatchObject({
    desired: 3,
    reason: 'running',
    explanation: '3: 9 jobs run',
  });
  expect(desiredWorkers(stateOf({ running: 1, busy: 0.01, live: 1 }), policyOf()).desired).toBe(1);
});

test('Fewer workers are wanted only after shrink_after_s, and none only after zero_after_s', () => {
  const policy = policyOf();
  let { memory, desired } = desiredWorkers(stateOf({ standardMs: 60_000 }), policy);
  expect(desired).toBe(4);
  const idleAt = (second: number): string => {
    const next = desiredWorkers(stateOf({ atMs: MONDAY + second * 1000 }), policy, memory);
    ({ memory, desired } = next);
    return next.explanation;
  };
  expect(idleAt(30)).toBe('4: 4 were needed a short time ago, kept for 30 s more');
  expect(idleAt(60)).toContain('4: 4 were needed');
  expect(idleAt(61)).toBe('1: 1 was needed a short time ago, kept for 59 s more');
  expect(idleAt(121)).toBe('0: no work');
});

test('Work that has ended does not hold a worker for longer than asked', () => {
  const policy = policyOf({ shrink_after_s: 5, zero_after_s: 5 });
  let memory: ScaleMemory = NO_MEMORY;
  let desired = 0;
  for (let second = 0; second <= 60; second += 1) {
    const isBusy = second <= 40;
    const state = stateOf({
      atMs: MONDAY + second * 1000,
      live: 2,
      running: isBusy ? 4 : 0,
      busy: isBusy ? 2 : 0,
    });
    ({ desired, memory } = desiredWorkers(state, policy, memory));
    if (second === 40) expect(desired).toBe(3);
  }
  expect(desired).toBe(0);
});

test('A process whose clock is a little behind keeps what was measured and held', () => {
  const policy = policyOf();
  let memory: ScaleMemory = NO_MEMORY;
  const lookAt = (ms: number, busy: number) => {
    const state = stateOf({ atMs: MONDAY + ms, live: 6, running: busy, busy });
    const decision = desiredWorkers(state, policy, memory);
    ({ memory } = decision);
    return decision;
  };
  for (let second = 0; second <= 60; second += 5) lookAt(second * 1000, 5);
  const before = memory;
  expect(before.desired).toBe(7);
  expect(lookAt(60_000 - 40, 2).desired).toBe(7);
  expect(memory.samples.length).toBeGreaterThanOrEqual(before.samples.length - 1);
  expect(lookAt(65_000, 2).desired).toBe(7);
});

test('Limits, budget and schedule are named where they decide', () => {
  const much = stateOf({ standardMs: 600_000 });
  expect(desiredWorkers(much, policyOf())).toMatchObject({
    desired: 8,
    reason: 'max',
    explanation: '8: 600 s of work waits, target 15 s; the pool has at most 8',
  });
  const budget = { worker_hour: 0.526, per_hour: 2 };
  expect(desiredWorkers(much, policyOf({ budget }))).toMatchObject({ desired: 3, reason: 'budget' });
  expect(desiredWorkers(stateOf(), policyOf({ min: 2 }))).toMatchObject({ desired: 2, reason: 'min' });
  const schedule = [{ days: ['mon', 'tue'], from: '09:00', to: '17:00', time_zone: 'Europe/Berlin', min: 5 }];
  expect(desiredWorkers(stateOf(), policyOf({ schedule }))).toMatchObject({
    desired: 5,
    reason: 'schedule',
    explanation: '5: no work; the schedule now asks for at least 5',
  });
  // Berlin is an hour ahead: 17:00 there.
  const evening = stateOf({ atMs: MONDAY + 7 * 3_600_000 });
  expect(desiredWorkers(evening, policyOf({ schedule })).desired).toBe(0);
});

test('A period over midnight belongs to the day on which it begins', () => {
  const schedule = [{ days: ['mon'], from: '22:00', to: '06:00', min: 3 }];
  const at = (hours: number) =>
    desiredWorkers(stateOf({ atMs: MONDAY + hours * 3_600_000 }), policyOf({ schedule })).desired;
  expect([at(12), at(13), at(20), at(21), at(13 + 24), at(-4)]).toEqual([0, 3, 3, 0, 0, 0]);
});

test('The format of a time zone is made once and not at every decision', () => {
  const schedule = [{ days: ['mon'], from: '22:00', to: '06:00', time_zone: 'Asia/Kathmandu', min: 3 }];
  const policy = policyOf({ schedule });
  const { DateTimeFormat } = Intl;
  let made = 0;
  Intl.DateTimeFormat = class extends DateTimeFormat {
    constructor(...args: ConstructorParameters<typeof DateTimeFormat>) {
      super(...args);
      made += 1;
    }
  } as typeof DateTimeFormat;
  onTestFinished(() => {
    Intl.DateTimeFormat = DateTimeFormat;
  });
  for (let second = 0; second < 5; second += 1)
    desiredWorkers(stateOf({ atMs: MONDAY + second * 1000 }), policy);
  expect(made).toBe(1);
});

test('A load that stays does not change the number, and one near a boundary does not either', () => {
  let memory: ScaleMemory = NO_MEMORY;
  const seen = new Set<number>();
  for (let second = 0; second < 900; second += 2) {
    // Work for about 2.3 workers, which 3.03 workers would be needed for, more or less.
    const busy = 2.3 + 0.08 * Math.sin(second / 70);
    const state = stateOf({ atMs: MONDAY + second * 1000, live: 4, running: 3, busy });
    const next = desiredWorkers(state, policyOf({ shrink_after_s: 0 }), memory);
    memory = next.memory;
    if (second > 200) seen.add(next.desired);
  }
  expect([...seen]).toHaveLength(1);
});

const anyState = fc.record({
  standardMs: fc.integer({ min: 0, max: 2_000_000 }),
  running: fc.integer({ min: 0, max: 50 }),
  busyShare: fc.double({ min: 0, max: 1, noNaN: true }),
  live: fc.integer({ min: 0, max: 20 }),
  gapMs: fc.integer({ min: 0, max: 90_000 }),
});
const anyPolicy = fc
  .record({
    min: fc.integer({ min: 0, max: 5 }),
    more: fc.integer({ min: 0, max: 20 }),
    start_s: fc.integer({ min: 0, max: 300 }),
    shrink_after_s: fc.integer({ min: 0, max: 300 }),
    zero_after_s: fc.integer({ min: 0, max: 600 }),
    perHour: fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined }),
  })
  .map(({ min, more, perHour, ...rest }) =>
    policyOf({
      ...rest,
      min,
      max: min + more,
      ...(perHour !== undefined && { budget: { worker_hour: 1, per_hour: perHour } }),
    }),
  );

test('In any order of states the number keeps its limits, holds running work, and its memory stays small', () => {
  fc.assert(
    fc.property(anyPolicy, fc.array(anyState, { minLength: 1, maxLength: 200 }), (policy, steps) => {
      let memory: ScaleMemory = NO_MEMORY;
      let atMs = MONDAY;
      for (const { gapMs, busyShare, standardMs, running, live } of steps) {
        atMs += gapMs;
        const busy = running === 0 ? 0 : busyShare * live;
        const state = stateOf({ atMs, standardMs, running, live, busy });
        const decision = desiredWorkers(state, policy, memory);
        const top = Math.min(policy.max, policy.budget?.per_hour ?? policy.max);
        expect(decision.desired).toBeLessThanOrEqual(top);
        expect(decision.desired).toBeGreaterThanOrEqual(Math.min(policy.min, top));
        if (running > 0)
          expect(decision.desired).toBeGreaterThanOrEqual(Math.min(top, Math.ceil(busy - 1e-6)));
        if (running + standardMs > 0 && live === 0)
          expect(decision.desired).toBeGreaterThanOrEqual(Math.min(1, top));
        expect(decision.explanation).toMatch(new RegExp(`^${decision.desired}: \\S`));
        // The memory is stored as JSON.
        memory = JSON.parse(JSON.stringify(decision.memory)) as ScaleMemory;
        expect(memory.samples.length).toBeLessThan(60);
        expect(memory.peaks.length).toBeLessThanOrEqual(top);
      }
    }),
    { numRuns: 200 },
  );
});

test('More waiting work never asks for fewer workers', () => {
  fc.assert(
    fc.property(anyPolicy, anyState, fc.integer({ min: 0, max: 500_000 }), (policy, step, moreMs) => {
      const { running, live, standardMs, busyShare } = step;
      const busy = running === 0 ? 0 : busyShare * live;
      const desired = (ms: number) =>
        desiredWorkers(stateOf({ standardMs: ms, running, live, busy }), policy).desired;
      expect(desired(standardMs + moreMs)).toBeGreaterThanOrEqual(desired(standardMs));
    }),
  );
});
