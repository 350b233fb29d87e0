import { formatModelRef, parseGroupQueueName, type WorkerId, type WorkerStatus } from '@lehr/shared';

/**
 * Which models a worker with a memory budget loads and unloads next. Pure.
 *
 * A model with waiting jobs is loaded as soon as there is room, and in place of models without any work at once. From models that have
 * work it takes the room only when it has waited for its patience, and when they have been loaded for theirs: 10 s, or four times the
 * time that loading the model takes, whichever is longer. So the time that goes into loading is bounded, however the jobs arrive, and
 * so is the wait for each model. Room that no waiting job needs is filled with the models that were used last.
 */
export interface ModelState {
  /** `name@version`. */
  readonly ref: string;
  /**
   * `known`: not loaded. `loading`: the engine opens it. `loaded`: its jobs are claimed. `unloading`: no job of it is claimed, and it is
   * closed when those in hand have ended.
   */
  readonly state: 'known' | 'loading' | 'loaded' | 'unloading';
  /** The memory that it takes, or probably will. */
  readonly bytes: number;
  /** Whether this worker has jobs of it in hand. */
  readonly isInUse: boolean;
  /** When this worker last had jobs of it in hand; undefined: never. All times are of the monotonic clock, in ms. */
  readonly usedAt: number | undefined;
  /** Whether an engine died while it opened the model, and no other engine has opened it since. */
  readonly isSuspect: boolean;
  /** Since when it is in this state. */
  readonly since: number;
  /** How long loading it takes; 0 while that was never measured. */
  readonly loadMs: number;
  /** Undefined: no job of it waits. */
  readonly waiting?: { readonly jobs: number; readonly oldestMs: number } | undefined;
  /** Since when another live worker has it loaded, or loads it, and has room for its jobs; undefined: none has. */
  readonly elsewhereSince?: number | undefined;
}

export interface ModelMove {
  /** To load, because its room is free; a model that is being unloaded stays loaded. */
  readonly load?: string;
  /** To unload. */
  readonly unload: readonly string[];
  /** The model that gets the room of the unloaded ones. */
  readonly next?: string;
}

export const MIN_PATIENCE_MS = 10_000;
const PATIENCE_IN_LOADS = 4;
/** For so long, and for the time that loading takes, jobs are left to another worker that has their model loaded. */
export const LEAVE_TO_OTHERS_MS = 3_000;
/** Each waiting job counts as this much more wait, so that of two models the one with more jobs is loaded first. */
const JOB_COUNTS_AS_MS = 50;
const MAX_JOBS_COUNTED = 100;

const NOTHING: ModelMove = { unload: [] };

export const patienceMs = ({ loadMs }: Pick<ModelState, 'loadMs'>): number =>
  Math.max(MIN_PATIENCE_MS, PATIENCE_IN_LOADS * loadMs);

/**
 * `models`: those that can be opened, in the order of models.yaml. `leavingBytes`: what models take that are no longer wanted and still
 * open, for the jobs that they have in hand.
 */
export function chooseMove(
  models: readonly ModelState[],
  wholeBudgetBytes: number,
  now: number,
  leavingBytes = 0,
): ModelMove {
  const budgetBytes = wholeBudgetBytes - leavingBytes;
  // One after the other: loading blocks the engine, and what a model takes is known when it is open.
  if (models.some(({ state }) => state === 'loading')) return NOTHING;
  const open = models.filter(({ state }) => state !== 'known');
  const loaded = open.filter(({ state }) => state === 'loaded');
  const usedBytes = sumOf(open);
  const isFree = open.length === 0 && leavingBytes === 0;
  const fits = ({ bytes }: ModelState): boolean => isFree || usedBytes + bytes <= budgetBytes;

  const wanted = models
    .filter((model) => model.state === 'known' && isWanted(model, now))
    .sort((a, b) => urgencyMs(b, now) - urgencyMs(a, now));
  for (const next of wanted) {
    if (fits(next)) return { load: next.ref, unload: [] };
    const missingBytes = sumOf(loaded) + next.bytes - budgetBytes;
    const unload = modelsToUnload(loaded, missingBytes, next, now);
    if (unload.length > 0) return { unload, next: next.ref };
    // The room that it waits for must not go to models that wait less.
    const isComing = missingBytes <= 0 || loaded.length === 0;
    if (isComing || waitedMs(next, now) >= patienceMs(next)) return { unload: [], next: next.ref };
  }
  if (wanted.length > 0) return NOTHING;

  const kept = open.find(({ state, waiting }) => state === 'unloading' && waiting);
  if (kept && usedBytes <= budgetBytes) return { load: kept.ref, unload: [] };
  if (usedBytes > budgetBytes) return { unload: surplus(loaded, sumOf(loaded) - budgetBytes) };
  return prefetch(models, fits);
}

/** How long its jobs have waited since this worker had it loaded last. */
const waitedMs = ({ waiting, since }: ModelState, now: number): number =>
  Math.min(waiting?.oldestMs ?? 0, now - since);

/** The model with the longest wait comes first; a long load counts against it, many jobs count for it. */
const urgencyMs = (model: ModelState, now: number): number =>
  waitedMs(model, now) -
  model.loadMs +
  Math.min(model.waiting?.jobs ?? 0, MAX_JOBS_COUNTED) * JOB_COUNTS_AS_MS;

function isWanted({ waiting, elsewhereSince, loadMs }: ModelState, now: number): boolean {
  if (!waiting || elsewhereSince === undefined) return waiting !== undefined;
  return Math.min(waiting.oldestMs, now - elsewhereSince) > LEAVE_TO_OTHERS_MS + loadMs;
}

const isIdle = ({ isInUse, waiting }: ModelState): boolean => !isInUse && !waiting;

/**
 * The models to unload for `next`, or none when too few of them may be. Those without work go first, the one used longest ago before the
 * others. A model that is larger than the budget gets the room of all.
 */
function modelsToUnload(
  loaded: readonly ModelState[],
  missingBytes: number,
  next: ModelState,
  now: number,
): string[] {
  const idle = loaded.filter(isIdle).sort(byLastUse);
  const busy = loaded
    .filter((model) => !isIdle(model) && now - model.since >= patienceMs(model))
    .sort((a, b) => a.since - b.since);
  const candidates = waitedMs(next, now) >= patienceMs(next) ? [...idle, ...busy] : idle;
  const chosen = takeBytes(candidates, missingBytes);
  const isEnough = sumOf(chosen) >= missingBytes || chosen.length === loaded.length;
  return isEnough ? chosen.map(({ ref }) => ref) : [];
}

/** Models turned out to be larger than expected: those without work go, but for the last one. */
function surplus(loaded: readonly ModelState[], bytes: number): string[] {
  const chosen = takeBytes(loaded.filter(isIdle).sort(byLastUse), bytes);
  return chosen.slice(0, Math.max(0, loaded.length - 1)).map(({ ref }) => ref);
}

/** The first models that together have as many bytes, or all. */
function takeBytes(models: readonly ModelState[], bytes: number): ModelState[] {
  const taken: ModelState[] = [];
  for (const model of models) {
    if (sumOf(taken) >= bytes) break;
    taken.push(model);
  }
  return taken;
}

/** Loads what fits, and always one model; none that would make the engine die while no job needs it. */
function prefetch(models: readonly ModelState[], fits: (model: ModelState) => boolean): ModelMove {
  const [next] = models
    .filter((model) => model.state === 'known' && !model.isSuspect && fits(model))
    .sort((a, b) => byLastUse(b, a));
  return next ? { load: next.ref, unload: [] } : NOTHING;
}

/** The one used longest ago first; those that were never used keep the order of models.yaml. */
const byLastUse = (a: ModelState, b: ModelState): number => (a.usedAt ?? -1) - (b.usedAt ?? -1);

const sumOf = (models: readonly ModelState[]): number => models.reduce((sum, { bytes }) => sum + bytes, 0);

/** Which models other live workers have loaded with room for jobs, and since when this worker has seen that. */
export class ElsewhereLoaded {
  readonly #worker: WorkerId;
  /** By `name@version`; times of the monotonic clock. */
  #since: ReadonlyMap<string, number> = new Map();

  /** `worker`: this one. */
  constructor(worker: WorkerId) {
    this.#worker = worker;
  }

  /** Undefined: no other worker has the model. */
  since(ref: string): number | undefined {
    return this.#since.get(ref);
  }

  read(fleet: readonly WorkerStatus[], now: number): void {
    const refs = new Set<string>();
    for (const worker of fleet) {
      if (worker.id === this.#worker || worker.draining || worker.quarantined !== undefined) continue;
      for (const { ref } of worker.models) if (hasRoom(worker, ref)) refs.add(ref);
      for (const { ref, state } of worker.residency?.models ?? []) if (state === 'loading') refs.add(ref);
    }
    this.#since = new Map([...refs].map((ref) => [ref, this.#since.get(ref) ?? now]));
  }
}

/** A worker is full when each of its lanes of the model is. */
function hasRoom({ lanes }: WorkerStatus, ref: string): boolean {
  const ofModel = lanes.filter(({ queue }) => {
    const group = parseGroupQueueName(queue);
    return group !== undefined && formatModelRef(group.model) === ref;
  });
  return ofModel.length === 0 || ofModel.some(({ rows, row_cap }) => rows < row_cap);
}

/**
 * The jobs that wait for each model, when one look at the queues does not see all groups: what an earlier look saw is kept for a while. Else
 * a model for which room is being made would seem to have no work, and its place would be given back.
 */
interface Waiting {
  readonly jobs: number;
  readonly oldestMs: number;
}

/** In this time the looks at the queues, twice a second, see about 480 groups. */
const KEPT_MS = 10_000;

export class WaitingMemory {
  readonly #seen = new Map<string, { readonly waiting: Waiting; readonly at: number }>();

  /** `isWhole`: the look saw all groups with waiting jobs. `now` is of the monotonic clock, ms. */
  add(found: ReadonlyMap<string, Waiting>, isWhole: boolean, now: number): ReadonlyMap<string, Waiting> {
    if (isWhole) this.#seen.clear();
    for (const [ref, waiting] of found) this.#seen.set(ref, { waiting, at: now });
    for (const [ref, { at }] of this.#seen) if (now - at > KEPT_MS) this.#seen.delete(ref);
    return new Map([...this.#seen].map(([ref, { waiting }]) => [ref, waiting]));
  }
}
