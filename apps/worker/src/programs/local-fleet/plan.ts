/** The workers that are to run, and when one that ended is started again. */
import { type Backoff, backoffMs } from '@lehr/shared';

export interface Member {
  /** Where it runs: a card, or one of the places of a machine without cards. */
  readonly slot: number;
  /** Which version of the program; a higher one is newer. */
  readonly generation: number;
  readonly state: 'starting' | 'serving' | 'draining';
  /** Jobs that it has in hand; undefined when that is not known. */
  readonly jobs: number | undefined;
  /** A later one has a higher number. */
  readonly order: number;
}

export interface FleetState<M extends Member> {
  /** How many workers there should be. */
  readonly wanted: number;
  readonly slots: number;
  readonly members: readonly M[];
  /** The newest version. Members of older ones are replaced. */
  readonly generation: number;
  /** Slots whose worker ended by itself and is started again after a pause. */
  readonly paused: ReadonlySet<number>;
  /** Slots in which workers ended again and again: others take their place. */
  readonly resting: ReadonlySet<number>;
}

export interface FleetPlan<M extends Member> {
  readonly start: readonly number[];
  readonly drain: readonly M[];
}

export function planFleet<M extends Member>(state: FleetState<M>): FleetPlan<M> {
  const active = state.members.filter((each) => each.state !== 'draining');
  const old = active.filter((each) => each.generation < state.generation);
  return old.length === 0 ? resize(state, active) : roll(state, active, old);
}

function resize<M extends Member>(state: FleetState<M>, active: readonly M[]): FleetPlan<M> {
  const wanted = Math.min(state.wanted, state.slots);
  if (active.length > wanted) {
    return { start: [], drain: [...active].sort(stopsFirst).slice(0, active.length - wanted) };
  }
  const missing = Math.max(0, wanted - active.length - state.paused.size);
  return { start: freeSlots(state, state.members).slice(0, missing), drain: [] };
}

/**
 * Replaces old members one after the other: a new one serves before an old one drains. While it starts, there is one member more than
 * wanted, beside an old one if no slot is free.
 */
function roll<M extends Member>(state: FleetState<M>, active: readonly M[], old: readonly M[]): FleetPlan<M> {
  const wanted = Math.min(state.wanted, state.slots);
  const current = active.filter((each) => each.generation === state.generation);
  const serving = current.filter((each) => each.state === 'serving').length;
  const surplus = Math.max(0, serving + old.length - wanted);
  const drain = [...old].sort(stopsFirst).slice(0, surplus);
  const missing = Math.min(wanted - current.length, wanted + 1 - active.length) - state.paused.size;
  if (missing <= 0) return { start: [], drain };
  const free = freeSlots(state, state.members);
  // Beside an old member, where no other new one is.
  const shared = freeSlots(
    state,
    state.members.filter((each) => each.generation === state.generation),
  );
  return { start: [...new Set([...free, ...shared])].slice(0, missing), drain };
}

/** Workers without jobs first, of these the ones that do not serve yet, and then the newest: it has warmed up the least. */
function stopsFirst(a: Member, b: Member): number {
  const rank = ({ state, jobs = 1 }: Member): number => (state === 'starting' ? -1 : jobs);
  return rank(a) - rank(b) || b.order - a.order;
}

function freeSlots({ slots, paused, resting }: FleetState<Member>, taken: readonly Member[]): number[] {
  const used = new Set(taken.map(({ slot }) => slot));
  return Array.from({ length: slots }, (_, slot) => slot).filter(
    (slot) => !used.has(slot) && !paused.has(slot) && !resting.has(slot),
  );
}

export interface RestartPolicy extends Backoff {
  /** A worker that ended sooner after its start did so quickly. */
  readonly quickMs: number;
  /** After so many quick ends in a row the slot rests. */
  readonly budget: number;
  readonly restMs: number;
}

export const RESTARTS: RestartPolicy = {
  firstMs: 500,
  maxMs: 30_000,
  quickMs: 30_000,
  budget: 6,
  restMs: 300_000,
};

export interface SlotHistory {
  /** Quick ends in a row. */
  readonly quickEnds: number;
  /** Nothing is started before, ms. */
  readonly notBefore: number;
  /** The budget is spent. */
  readonly isResting: boolean;
}

export const NO_ENDS: SlotHistory = { quickEnds: 0, notBefore: 0, isResting: false };

/**
 * When a worker that ended by itself is started again: later after each quick end, and after too many not for some minutes. Pure.
 *
 * The history after a worker of this slot ended by itself at `now`, `ranMs` after its start.
 */
export function afterEnd(
  { quickEnds: before }: SlotHistory,
  { now, ranMs }: { readonly now: number; readonly ranMs: number },
  policy: RestartPolicy = RESTARTS,
): SlotHistory {
  const { quickMs, budget, restMs } = policy;
  const quickEnds = ranMs < quickMs ? before + 1 : 1;
  if (quickEnds >= budget) return { quickEnds: 0, notBefore: now + restMs, isResting: true };
  return { quickEnds, notBefore: now + backoffMs(policy, quickEnds), isResting: false };
}
