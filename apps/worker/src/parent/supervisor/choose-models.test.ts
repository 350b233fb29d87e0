import { expect, test } from 'vitest';
import {
  chooseMove,
  LEAVE_TO_OTHERS_MS,
  MIN_PATIENCE_MS,
  type ModelMove,
  type ModelState,
  patienceMs,
  WaitingMemory,
} from './choose-models.ts';

const NOW = 1_000_000;
const model = (ref: string, fields: Partial<ModelState> = {}): ModelState => ({
  ref,
  state: 'known',
  bytes: 10,
  isInUse: false,
  usedAt: undefined,
  isSuspect: false,
  since: 0,
  loadMs: 1_000,
  ...fields,
});
const loaded = (ref: string, fields: Partial<ModelState> = {}) => model(ref, { state: 'loaded', ...fields });
const waiting = (oldestMs: number, jobs = 1) => ({ waiting: { jobs, oldestMs } });
const choose = (models: readonly ModelState[], budget = 10) => chooseMove(models, budget, NOW);

test('Without work, models are loaded in their order while they fit, and at least one', () => {
  expect(choose([model('a'), model('b')], 20)).toEqual({ load: 'a', unload: [] });
  expect(choose([loaded('a'), model('b')], 20)).toEqual({ load: 'b', unload: [] });
  expect(choose([loaded('a'), model('b')], 19)).toEqual({ unload: [] });
  expect(choose([model('huge', { bytes: 99 })])).toEqual({ load: 'huge', unload: [] });
});

test('What a model takes that is no longer wanted and still open is not given away', () => {
  const b = model('b', waiting(1));
  expect(chooseMove([b], 10, NOW, 10)).toEqual({ unload: [], next: 'b' });
  expect(chooseMove([b], 20, NOW, 10)).toEqual({ load: 'b', unload: [] });
  expect(chooseMove([b], 10, NOW)).toEqual({ load: 'b', unload: [] });
});

test('A model that an engine died with is loaded for a waiting job only', () => {
  expect(choose([model('a', { isSuspect: true })])).toEqual({ unload: [] });
  expect(choose([model('a', { isSuspect: true, ...waiting(1) })])).toEqual({ load: 'a', unload: [] });
});

test('The room of a model without work goes to a waiting job at once, and that of the one used longest ago first', () => {
  const models = [loaded('a', { usedAt: 9 }), loaded('b', { usedAt: 5 }), model('c', waiting(1))];
  expect(choose(models, 20)).toEqual({ unload: ['b'], next: 'c' });
});

test('A model with work keeps its room until the other has waited for its patience', () => {
  const after = (waitedMs: number, heldMs: number, fields: Partial<ModelState> = {}) =>
    choose([
      loaded('a', { ...waiting(50_000, 9), since: NOW - heldMs, ...fields }),
      model('b', waiting(waitedMs)),
    ]);
  expect(after(MIN_PATIENCE_MS - 1, 99_000).unload).toEqual([]);
  expect(after(MIN_PATIENCE_MS, MIN_PATIENCE_MS - 1).unload).toEqual([]);
  expect(after(MIN_PATIENCE_MS, MIN_PATIENCE_MS).unload).toEqual(['a']);
  // Four loads of 5 s take longer.
  expect(after(MIN_PATIENCE_MS, 19_999, { loadMs: 5_000 }).unload).toEqual([]);
});

test('A wait counts from when the model was unloaded, so that two backlogs do not take the room from each other at once', () => {
  const models = [
    loaded('a', { ...waiting(90_000), since: NOW - MIN_PATIENCE_MS }),
    model('b', { ...waiting(80_000), since: NOW - 1_000 }),
  ];
  expect(choose(models).unload).toEqual([]);
});

test('Jobs are left for a while to another worker that has their model loaded', () => {
  const idle = loaded('a');
  const left = (oldestMs: number, sinceMs: number) =>
    choose([idle, model('b', { ...waiting(oldestMs), elsewhereSince: NOW - sinceMs })]).unload;
  const longMs = LEAVE_TO_OTHERS_MS + 1_001;
  expect(left(50, 60_000)).toEqual([]);
  expect(left(60_000, 50)).toEqual([]);
  expect(left(longMs, longMs)).toEqual(['a']);
});

test('Room that an overdue model waits for does not go to models that wait less', () => {
  const models = [
    loaded('a', { ...waiting(9), since: NOW - 1 }),
    model('big', { ...waiting(60_000), bytes: 20 }),
    model('small', waiting(20)),
  ];
  expect(choose(models, 20)).toEqual({ unload: [], next: 'big' });
});

test('A model that is being unloaded stays when jobs of it wait and no other model needs its room', () => {
  const leaving = model('a', { state: 'unloading', isInUse: true, ...waiting(5) });
  expect(choose([leaving, model('b')])).toEqual({ load: 'a', unload: [] });
  expect(choose([leaving, model('b', waiting(20_000))])).toEqual({ unload: [], next: 'b' });
});

test('When models are larger than expected, those without work are unloaded but for one', () => {
  const models = [loaded('a', { bytes: 30, usedAt: 3 }), loaded('b', { bytes: 30, usedAt: 2 })];
  expect(choose(models)).toEqual({ unload: ['b'] });
  expect(choose(models.map((each) => ({ ...each, isInUse: true })))).toEqual({ unload: [] });
});

/** A small generator of random numbers (mulberry32), so that a failure can be repeated by its seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface SimulatedModel {
  readonly ref: string;
  readonly bytes: number;
  readonly loadMs: number;
  readonly jobMs: number;
  /** The chance of a job in each look; some models get more work than the worker can do. */
  readonly arrives: number;
  state: ModelState['state'];
  since: number;
  usedAt: number | undefined;
  /** When the job in hand ends. */
  endsAt: number;
  /** When each waiting job arrived. */
  readonly line: number[];
}

function randomModel(ref: string, random: () => number): SimulatedModel {
  return {
    ref,
    bytes: 1 + Math.floor(random() * 10),
    loadMs: 500 + Math.floor(random() * 4_000),
    jobMs: 500 + random() * 3_000,
    arrives: random() < 0.3 ? 0.9 : random() * 0.1,
    state: 'known',
    since: 0,
    usedAt: undefined,
    endsAt: Number.NEGATIVE_INFINITY,
    line: [],
  };
}

/** The worker runs one job of each loaded model at a time. */
function advance(model: SimulatedModel, now: number, isNewJob: boolean): void {
  if (isNewJob) model.line.push(now);
  const isInUse = model.endsAt > now;
  if (model.state === 'loading' && now - model.since >= model.loadMs)
    Object.assign(model, { state: 'loaded', since: now });
  if (model.state === 'unloading' && !isInUse) Object.assign(model, { state: 'known', since: now });
  if (model.state === 'loaded' && !isInUse && model.line.shift() !== undefined)
    model.endsAt = now + model.jobMs;
  if (model.endsAt > now) model.usedAt = now;
}

function stateOf(model: SimulatedModel, now: number): ModelState {
  const [oldest] = model.line;
  return {
    ...model,
    isSuspect: false,
    isInUse: model.endsAt > now,
    waiting: oldest === undefined ? undefined : { jobs: model.line.length, oldestMs: now - oldest },
  };
}

/** Makes a move in the simulation. Fails when it breaks a rule. */
function apply(
  { load, unload }: ModelMove,
  models: readonly SimulatedModel[],
  now: number,
  rule: string,
): void {
  for (const each of models) {
    if (unload.includes(each.ref)) {
      expect(each.state, rule).toBe('loaded');
      Object.assign(each, { state: 'unloading', since: now });
    }
    if (each.ref === load)
      Object.assign(each, { state: each.state === 'known' ? 'loading' : 'loaded', since: now });
  }
}

/** A worker in looks of 500 ms with a random budget. Fails when a rule is broken; returns the longest wait for a model to be loaded. */
function simulate(seed: number, looks: number) {
  const random = randomOf(seed);
  const models = Array.from({ length: 2 + Math.floor(random() * 4) }, (_, i) => randomModel(`m${i}`, random));
  const budget = Math.max(...models.map(({ bytes }) => bytes)) * (1 + random());
  const rule = `seed ${seed}`;
  const broken: string[] = [];
  let longestMs = 0;
  for (let now = 500; now <= looks * 500; now += 500) {
    for (const each of models) {
      advance(each, now, random() < each.arrives);
      const isStarved = each.state === 'known' && each.line.length > 0;
      if (isStarved) longestMs = Math.max(longestMs, now - Math.max(each.line[0], each.since));
    }
    const states = models.map((each) => stateOf(each, now));
    apply(chooseMove(states, budget, now), models, now, rule);
    const open = models.filter(({ state }) => state !== 'known');
    const usedBytes = open.reduce((sum, { bytes }) => sum + bytes, 0);
    if ((usedBytes > budget && open.length > 1) || open.length === 0)
      broken.push(`${usedBytes} of ${budget}`);
  }
  expect(broken, rule).toEqual([]);
  return { models, longestMs };
}

test('Over random models and arrivals the budget holds, one model is always open, and no model starves', () => {
  for (let seed = 1; seed <= 80; seed += 1) {
    const { models, longestMs } = simulate(seed, 1_000);
    // Each other model may go first, for its patience, its load and the job in hand.
    const roundMs = models.reduce(
      (sum, each) => sum + patienceMs(each) + each.loadMs + each.jobMs + 1_500,
      0,
    );
    expect(longestMs, `seed ${seed}`).toBeLessThan(2 * roundMs);
  }
});

test('However much work two models have, each keeps its room for its patience', () => {
  const states = [loaded('a', { since: 0 }), model('b')].map((each) => ({ ...each, ...waiting(1e9, 50) }));
  let moves = 0;
  for (let now = 0; now < 1_000_000; now += 500) {
    const { unload, load } = chooseMove(states, 10, now);
    for (const each of states) {
      if (unload.includes(each.ref)) Object.assign(each, { state: 'known', since: now });
      if (each.ref === load) Object.assign(each, { state: 'loaded', since: now });
    }
    moves += unload.length;
  }
  expect(moves).toBeGreaterThan(10);
  expect(moves).toBeLessThanOrEqual(1_000_000 / MIN_PATIENCE_MS);
});

const jobs = (count: number) => ({ jobs: count, oldestMs: 100 });

test('A model that a partial look did not see keeps the jobs of an earlier look, for ten seconds', () => {
  const memory = new WaitingMemory();
  memory.add(new Map([['a@1', jobs(3)]]), false, 0);
  const second = memory.add(new Map([['b@1', jobs(1)]]), false, 500);
  expect([...second.keys()].sort()).toEqual(['a@1', 'b@1']);
  expect([...memory.add(new Map(), false, 10_200).keys()]).toEqual(['b@1']);
});

test('A look that saw all groups counts alone', () => {
  const memory = new WaitingMemory();
  memory.add(new Map([['a@1', jobs(3)]]), false, 0);
  expect([...memory.add(new Map([['b@1', jobs(1)]]), true, 500).keys()]).toEqual(['b@1']);
});
