/**
 * Starts and stops the workers of one machine. It never kills a worker with work in hand: a worker that has to go gets SIGTERM, ends
 * its jobs or hands them back, and ends by itself. Only one that has not ended long after its drain is killed.
 */
import type { Clock, Log } from '@lehr/shared';
import {
  afterEnd,
  type FleetPlan,
  NO_ENDS,
  planFleet,
  type RestartPolicy,
  type SlotHistory,
} from './plan.ts';
import { type WorkerEnd, WorkerProcess } from './worker-process.ts';

/** How to start a worker; a changed one replaces the running workers. */
export interface WorkerSpec {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface FleetOptions {
  readonly spec: WorkerSpec;
  /** How many workers fit. */
  readonly slots: number;
  /** Variables of a slot, such as the card of its worker. `isAlone`: no other worker is in it. */
  slotEnv(slot: number, isAlone: boolean): Readonly<Record<string, string>>;
  readonly restarts: RestartPolicy;
  /** A worker that has not ended so long after the request to end is killed. */
  readonly killAfterMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** A line of the output of a worker. */
  onLine(line: string): void;
  /** No worker has ever served, and the last one says that its configuration cannot be used. */
  onUnusable(): void;
}

/** As in sysexits.h: a wrong configuration. */
const EXIT_CONFIG = 78;

export class Fleet {
  readonly #options: FleetOptions;
  readonly #members = new Set<WorkerProcess>();
  readonly #histories = new Map<number, SlotHistory>();
  #spec: WorkerSpec;
  #generation = 0;
  #order = 0;
  #wanted = 0;
  #hasServed = false;
  #isStopping = false;
  #timer: NodeJS.Timeout | undefined;
  #onEmpty: (() => void) | undefined;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#spec = options.spec;
  }

  get members(): readonly WorkerProcess[] {
    return [...this.#members];
  }

  get generation(): number {
    return this.#generation;
  }

  /** From now on there should be so many workers. `jobs`: what each has in hand, by worker id. */
  want(wanted: number, jobs: ReadonlyMap<string, number> = new Map()): void {
    if (this.#isStopping) return;
    if (wanted !== this.#wanted) this.#options.log.info({ wanted, workers: this.#counts() }, 'fleet resizes');
    this.#wanted = wanted;
    for (const member of this.#members) member.jobs = jobs.get(member.worker ?? '');
    this.#follow();
  }

  /** Replaces all workers by such ones; each new one serves before an old one drains. */
  roll(spec: WorkerSpec): void {
    this.#spec = spec;
    this.#generation += 1;
    this.#histories.clear();
    this.#options.log.info({ generation: this.#generation, workers: this.#counts() }, 'fleet rolls');
    this.#follow();
  }

  /** Drains all workers. Resolves when the last one has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    this.#options.log.info({ workers: this.#counts() }, 'fleet stops');
    for (const member of this.#members) this.#drain(member);
    if (this.#members.size > 0)
      await new Promise<void>((resolve) => {
        this.#onEmpty = resolve;
      });
  }

  /** Ends all workers without a drain. */
  end(): void {
    for (const member of this.#members) member.end();
  }

  #follow(): void {
    if (this.#isStopping) return;
    const { slots, log } = this.#options;
    const plan: FleetPlan<WorkerProcess> = planFleet({
      wanted: this.#wanted,
      slots,
      members: this.members,
      generation: this.#generation,
      ...this.#waitingSlots(),
    });
    for (const member of plan.drain) {
      log.info({ worker: member.worker, slot: member.slot, jobs: member.jobs }, 'fleet drains a worker');
      this.#drain(member);
    }
    for (const slot of plan.start) this.#start(slot);
  }

  /** Looks again when the first of them may be used. */
  #waitingSlots(): { readonly paused: ReadonlySet<number>; readonly resting: ReadonlySet<number> } {
    const now = this.#options.clock.monotonic();
    const waiting = [...this.#histories].filter(([, { notBefore }]) => notBefore > now);
    clearTimeout(this.#timer);
    if (waiting.length > 0) {
      const nextMs = Math.min(...waiting.map(([, { notBefore }]) => notBefore)) - now;
      this.#timer = setTimeout(() => this.#follow(), Math.ceil(nextMs) + 1);
    }
    const slotsWith = (isResting: boolean): ReadonlySet<number> =>
      new Set(waiting.flatMap(([slot, each]) => (each.isResting === isResting ? [slot] : [])));
    return { paused: slotsWith(false), resting: slotsWith(true) };
  }

  #start(slot: number): void {
    const { command, env } = this.#spec;
    const { slotEnv, log } = this.#options;
    this.#order += 1;
    const isAlone = !this.members.some((each) => each.slot === slot);
    const member = new WorkerProcess({
      slot,
      generation: this.#generation,
      order: this.#order,
      command,
      env: { ...env, ...slotEnv(slot, isAlone) },
      onLine: (line) => this.#options.onLine(line),
      onChange: (changed) => this.#changed(changed),
      onEnded: (ended, how) => this.#ended(ended, how),
    });
    this.#members.add(member);
    log.info({ slot, pid: member.pid, generation: this.#generation }, 'fleet starts a worker');
  }

  #changed(member: WorkerProcess): void {
    if (member.state !== 'serving') return;
    this.#hasServed = true;
    this.#options.log.info(
      { worker: member.worker, slot: member.slot, workers: this.#counts() },
      'fleet has a worker',
    );
    this.#follow();
  }

  #drain(member: WorkerProcess): void {
    const { killAfterMs, log } = this.#options;
    member.drain();
    const timer = setTimeout(() => {
      if (!this.#members.has(member)) return;
      log.error({ worker: member.worker, killAfterMs }, 'a worker did not end after its drain; it is killed');
      member.kill();
    }, killAfterMs);
    timer.unref();
  }

  #ended(member: WorkerProcess, { code, signal, ranMs }: WorkerEnd): void {
    const { clock, log, restarts, onUnusable } = this.#options;
    this.#members.delete(member);
    const fields = { worker: member.worker, slot: member.slot, code, signal };
    if (member.state === 'draining')
      log.info({ ...fields, workers: this.#counts() }, 'a worker of the fleet has ended');
    else {
      const before = this.#histories.get(member.slot) ?? NO_ENDS;
      const history = afterEnd(before, { now: clock.monotonic(), ranMs }, restarts);
      this.#histories.set(member.slot, history);
      const pauseMs = Math.round(history.notBefore - clock.monotonic());
      if (history.isResting)
        log.error({ ...fields, pauseMs }, 'a worker ends again and again; its place rests');
      else log.warn({ ...fields, pauseMs }, 'a worker ended by itself and is started again');
      if (code === EXIT_CONFIG && !this.#hasServed && this.#members.size === 0) onUnusable();
    }
    if (this.#members.size === 0) this.#onEmpty?.();
    this.#follow();
  }

  #counts(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = { starting: 0, serving: 0, draining: 0 };
    for (const { state } of this.#members) counts[state] += 1;
    return counts;
  }
}
