/**
 * The loop that claims jobs. It reads the heads of some group queues with waiting jobs (claim.ts says which), chooses one
 * (policy.ts), claims as many jobs as fit into the next step, starts an attempt of each, and passes it on. When no job can be
 * served it sleeps on the markers of the groups that it has room for.
 *
 *   looking   -> claiming   a head can be served: claim and start, look again
 *   looking   -> sleeping   no head can be served
 *   sleeping  -> claiming   a marker was popped, no other job can wait, and there is room for any job
 *   sleeping  -> looking    a marker was popped, rows became free that a waiting job may take, a new group appeared, or a short job may
 *                           have come for a full lane
 *   any       -> stopped    drain: no further job is claimed
 */
import { type Clock, type JobId, type Log, PRIORITY_CLASSES } from '@lehr/shared';
import type { Claimer, GroupHead } from '@lehr/shared/queue';
import type { JobRunner } from '../runs/job-runner.ts';
import type { Attempts } from './attempts.ts';
import { chooseGroup } from './policy.ts';

export interface IntakeOptions {
  readonly claimer: Claimer;
  readonly attempts: Pick<Attempts, 'claim' | 'freeJobs'>;
  readonly runner: Pick<JobRunner, 'room' | 'usualJobs' | 'fullTenants'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The group queues that this worker serves. */
  readonly groups: () => readonly string[];
  /** The models of these groups. */
  readonly models: () => readonly string[];
  /** Jobs of this group queue were claimed and their attempts started, in `ms`. */
  readonly onClaimed?: (queue: string, jobs: number, ms: number) => void;
  /** False while the engine is down or the store refuses writes. */
  readonly mayClaim: () => boolean;
}

/** The pause of the loop after an error, such as a Redis that does not answer. */
const RETRY_MS = 500;
/**
 * Searches without a group that can be served, before the loop sleeps: there may be more groups than one search looks at. The next
 * time it goes on where it stopped, at the latest when the claimer's longest sleep ends.
 */
const MAX_SEARCHES = 8;
/**
 * While jobs wait for which there is no room, it looks so often whether another one came before them that finds room: one of a more urgent
 * class, of another tenant, or a short one for a full lane. Their groups have no marker that would tell.
 */
const OTHER_JOBS_AFTER_MS = 500;
/** Jobs that are claimed by a marker alone, all of one class; one is usual, and each needs a lease token beforehand. */
const MAX_UNSEEN_JOBS = 8;
/** Groups claimed from last, which every search looks at: their lanes may be running. More than an engine has lanes. */
const MAX_RECENT_GROUPS = 8;
/** Callers choose the groups, by the sizes of their pictures. */
const MAX_REMEMBERED_GROUPS = 4096;

interface Sleep {
  readonly groups: readonly string[];
  readonly woken: Promise<string | undefined>;
}

export class Intake {
  readonly #options: IntakeOptions;
  readonly #stop = new AbortController();
  #loop: Promise<void> | undefined;
  #isFailing = false;
  #sleep: Sleep | undefined;
  /** Ends a sleep of this loop; set while it sleeps. */
  #wake: (() => void) | undefined;
  /** Whether to look again instead of sleeping. */
  #shouldLook = false;
  /** Groups with waiting jobs that were not served. Sleeping on their markers would wake the loop at once. */
  #skippedGroups: ReadonlySet<string> = new Set();
  /** Whether a job may wait that the last searches did not claim. */
  #mayWait = true;
  /** Whether the loop sleeps on the markers of all groups and none of them had a waiting job: then no search finds more than the markers tell. */
  #hearsAll = false;
  /** The group whose marker ended such a sleep: no other job waits. */
  #onlyGroup: string | undefined;
  /** The group of a marker that was popped: another worker gets it if no job of the group is claimed. */
  #groupToWake: string | undefined;
  /** The group that jobs are being claimed from. */
  #claiming: string | undefined;
  #claims = 0;
  #claimRounds = 0;
  /** When jobs of a group were last claimed, counted in claims; in this order, of the groups that were claimed from last. */
  readonly #lastClaims = new Map<string, number>();
  #recentGroups: readonly string[] = [];

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** The group that jobs are being claimed from; undefined when none is, or when their runs exist. */
  get claiming(): string | undefined {
    return this.#claiming;
  }

  /** How many jobs were claimed. */
  get claims(): number {
    return this.#claims;
  }

  /** Whether the last try to claim failed, for example because Redis takes no writes. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Looks for jobs again: a group is new, or the engine is ready again. */
  look(): void {
    this.#shouldLook = true;
    this.#wake?.();
  }

  /** Looks for jobs again if one may wait: rows became free. */
  roomFreed(): void {
    if (!this.#hearsAll) this.look();
  }

  /** The group was retired. */
  forget(group: string): void {
    this.#lastClaims.delete(group);
    this.#recentGroups = this.#recentGroups.filter((each) => each !== group);
  }

  /** Stops claiming; resolves when the jobs of a claim under way have started. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.look();
    await this.#options.claimer.interrupt().catch(() => {});
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#options;
    while (!this.#stop.signal.aborted) {
      try {
        if (!(await this.#claimAllOf(this.#onlyGroup))) await this.#fill();
        await this.#wakeOther();
        this.#isFailing = false;
        await this.#sleepUntilWoken();
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        this.#isFailing = true;
        log.warn({ error }, 'jobs could not be claimed; retrying');
        await clock.sleep(RETRY_MS, this.#stop.signal);
      }
    }
  }

  /**
   * Claims the jobs of the only group that has any, without a search, if there is room for any job. False when that was not done, or when
   * jobs of their class may be left; those of less urgent classes have a marker.
   */
  async #claimAllOf(group: string | undefined): Promise<boolean> {
    const { attempts, runner } = this.#options;
    this.#onlyGroup = undefined;
    if (group === undefined || this.#shouldLook || !this.#mayClaim() || runner.fullTenants.length > 0)
      return false;
    // The least urgent class has the least room: none while others run.
    const { freeRows } = runner.room(group, PRIORITY_CLASSES[PRIORITY_CLASSES.length - 1]);
    if (freeRows === 0) return false;
    const asked = Math.min(runner.usualJobs(group, freeRows), attempts.freeJobs, MAX_UNSEEN_JOBS);
    return (await this.#claim(group, asked)) < asked;
  }

  /** Claims until no head can be served. */
  async #fill(): Promise<void> {
    const { claimer, models, runner } = this.#options;
    this.#skippedGroups = new Set();
    this.#mayWait = true;
    // Reset before the heads are read, so that no later change is missed; also while claiming is not allowed, or the loop
    // would spin.
    this.#shouldLook = false;
    const skipped = new Set<string>();
    // Another worker was faster, or BullMQ hands out no job of them. The loop sleeps on their markers.
    const gaveNone = new Set<string>();
    let searches = 0;
    while (!this.#stop.signal.aborted && this.#mayClaim()) {
      const { fullTenants } = runner;
      const heads = await claimer.findWork(models(), this.#recentGroups, fullTenants);
      const { searchedAll } = claimer;
      const choice = chooseGroup(
        heads.filter(({ queue, isOfFullTenant }) => !isOfFullTenant && !gaveNone.has(queue)),
        (queue, priority) => runner.room(queue, priority),
        (queue) => this.#lastClaims.get(queue) ?? 0,
      );
      if (!choice) {
        for (const { queue } of heads) if (!gaveNone.has(queue)) skipped.add(queue);
        this.#skippedGroups = skipped;
        this.#mayWait = skipped.size > 0 || gaveNone.size > 0 || !searchedAll;
        searches++;
        if (searchedAll || searches === MAX_SEARCHES) return;
        continue;
      }
      const head = heads.find(({ queue }) => queue === choice.queue) as GroupHead;
      // Behind the head there may be jobs of tenants that get none.
      const isOneByOne = fullTenants.some((full) => choice.queue.startsWith(`${full.split(' ')[0]}.`));
      const fitting = isOneByOne ? 1 : runner.usualJobs(choice.queue, choice.rows);
      const claimed = await this.#claim(
        choice.queue,
        Math.min(head.waitingOfClass ?? head.waiting, fitting, this.#options.attempts.freeJobs),
        head.outOfTurn,
      );
      if (claimed === 0) gaveNone.add(choice.queue);
      // No job waits any more: the next one sets a marker.
      this.#mayWait = !(searchedAll && heads.length === 1 && claimed === head.waiting);
      if (!this.#mayWait) return;
    }
  }

  /** Sleeps until a marker of a group with room is popped or `look` is called. */
  async #sleepUntilWoken(): Promise<void> {
    const { claimer, groups } = this.#options;
    if (this.#shouldLook) return;
    const wanted = this.#mayClaim()
      ? groups().filter((group) => this.#hasRoom(group) && !this.#skippedGroups.has(group))
      : [];
    if (this.#sleep && !wanted.every((group) => this.#sleep?.groups.includes(group))) {
      await claimer.interrupt();
      await this.#wokenBy(await this.#sleep.woken);
      if (this.#shouldLook || this.#groupToWake !== undefined) return;
    }
    this.#sleep ??= this.#startSleep(wanted);
    this.#hearsAll = !this.#mayWait && wanted.length === groups().length;
    const local = new Promise<'local'>((resolve) => {
      this.#wake = () => resolve('local');
    });
    const timer = new AbortController();
    if (this.#mayServeAnother()) void this.#wakeIn(OTHER_JOBS_AFTER_MS, timer.signal);
    const woken = await Promise.race([this.#sleep.woken, local]).finally(() => timer.abort());
    this.#wake = undefined;
    const heardAll = this.#hearsAll;
    this.#hearsAll = false;
    if (woken === 'local') return;
    await this.#wokenBy(woken);
    if (heardAll) this.#onlyGroup = this.#groupToWake;
  }

  #mayServeAnother(): boolean {
    return this.#mayClaim() && [...this.#skippedGroups].some((group) => this.#hasRoom(group));
  }

  async #wakeIn(ms: number, signal: AbortSignal): Promise<void> {
    await this.#options.clock.sleep(ms, signal);
    if (!signal.aborted) this.#wake?.();
  }

  /**
   * Starts a blocking pop. It stays the only one until it returns or fails, also when other commands fail meanwhile: a second
   * pop would wait behind it on the same connection, and the marker that the first one takes would be lost.
   */
  #startSleep(groups: readonly string[]): Sleep {
    const sleep = { groups, woken: this.#options.claimer.wait(groups) };
    sleep.woken.catch(() => {
      if (this.#sleep === sleep) this.#sleep = undefined;
    });
    return sleep;
  }

  /** The blocking pop returned. The marker of a group without room is passed on to another worker. */
  async #wokenBy(group: string | undefined): Promise<void> {
    this.#sleep = undefined;
    if (group === undefined) return;
    if (this.#stop.signal.aborted || !this.#mayClaim() || !this.#hasRoom(group)) {
      await this.#options.claimer.pass(group);
      return;
    }
    this.#groupToWake = group;
  }

  /** Only after the look: a marker put back before it would be popped here again at once. */
  async #wakeOther(): Promise<void> {
    const owed = this.#groupToWake;
    const wasCutShort = this.#stop.signal.aborted || !this.#mayClaim();
    if (owed !== undefined && (wasCutShort || this.#skippedGroups.has(owed)))
      await this.#options.claimer.pass(owed);
    this.#groupToWake = undefined;
  }

  #mayClaim(): boolean {
    return this.#options.mayClaim() && this.#options.attempts.freeJobs > 0;
  }

  /** Whether some job of the group would find room: a job of the most urgent class, or a short one. */
  #hasRoom(group: string): boolean {
    const { freeRows, shortJobMs } = this.#options.runner.room(group, PRIORITY_CLASSES[0]);
    return freeRows > 0 || shortJobMs !== undefined;
  }

  /** Claims up to `count` jobs and starts an attempt of each; returns how many jobs left the queue. */
  async #claim(group: string, count: number, outOfTurn?: JobId): Promise<number> {
    const { attempts, clock, onClaimed } = this.#options;
    this.#claiming = group;
    const startedAt = clock.monotonic();
    try {
      const claimed = await attempts.claim(group, count, outOfTurn);
      this.#claims += claimed;
      if (claimed > 0) this.#noteClaim(group);
      if (claimed > 0) onClaimed?.(group, claimed, clock.monotonic() - startedAt);
      return claimed;
    } finally {
      this.#claiming = undefined;
    }
  }

  #noteClaim(group: string): void {
    this.#recentGroups = [group, ...this.#recentGroups.filter((each) => each !== group)].slice(
      0,
      MAX_RECENT_GROUPS,
    );
    this.#lastClaims.delete(group);
    this.#lastClaims.set(group, ++this.#claimRounds);
    const [oldest] = this.#lastClaims.keys();
    if (this.#lastClaims.size > MAX_REMEMBERED_GROUPS) this.#lastClaims.delete(oldest);
  }
}
