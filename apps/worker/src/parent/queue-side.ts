/**
 * The queue side of a worker: finds and claims jobs, keeps their leases and deadlines, and writes their ends. The engine side
 * runs the jobs in between; it is reached only through `JobRunner`.
 */
import { formatModelRef, type JobState, type LeaseToken, parseGroupQueueName, targetOf } from '@lehr/shared';
import {
  AttemptStore,
  Claimer,
  type GroupHead,
  Janitor,
  Leases,
  readPauses,
  WorkflowRunner,
} from '@lehr/shared/queue';
import { JobFinisher } from './delivery/job-finisher.ts';
import type { OutputStore } from './delivery/output-store.ts';
import { Attempts } from './intake/attempts.ts';
import { DirectRuns } from './intake/direct-runs.ts';
import { GroupList, subscribeToAnnouncements } from './intake/group-list.ts';
import { IdleWatch } from './intake/idle-watch.ts';
import { Intake } from './intake/intake.ts';
import { Quarantine } from './intake/quarantine.ts';
import type { JobRun } from './runs/job-run.ts';
import type { JobRunner } from './runs/job-runner.ts';
import type { WorkerParts } from './runs/worker-parts.ts';

export interface QueueSideParts extends WorkerParts {
  readonly outputs: OutputStore;
}

/** A job without a record cannot be followed. */
const NOT_FOLLOWED = { followed: false, watched: false };

export class QueueSide {
  readonly #parts: QueueSideParts;
  readonly #runner: JobRunner;
  readonly #leases: Leases;
  readonly #attempts: Attempts;
  readonly #finisher: JobFinisher;
  readonly #groups: GroupList;
  readonly #intake: Intake;
  readonly #direct: DirectRuns;
  readonly #janitor: Janitor;
  readonly #quarantine: Quarantine;
  readonly #idleWatch: IdleWatch;
  /** Looks for jobs of models that are not loaded. The other claimer remembers where its own search stopped. */
  readonly #searcher: Claimer;

  /** `onStuck` is called when this side claims no jobs although some wait that the worker could run. */
  constructor(parts: QueueSideParts, runner: JobRunner, onStuck: () => void) {
    const { clock, log, keys, queues, records, outputs, times, commands: redis, id: worker } = parts;
    this.#parts = parts;
    this.#runner = runner;
    const workflows = new WorkflowRunner({ redis, keys, records, queues });
    const store = new AttemptStore({ redis, keys, records, worker, leaseMs: queues.leaseMs });
    this.#leases = new Leases({
      queues,
      log,
      renewEveryMs: times.renewEveryMs,
      onLost: ({ token }) => this.#leaseLost(token),
    });
    this.#attempts = new Attempts({
      ...parts,
      worker,
      workflows,
      store,
      leases: this.#leases,
      runner,
      maxRunMs: times.maxRunMs,
      finish: (run) => this.#finish(run),
      onEnded: (run, end) => this.#ended(run, end),
      onEndedAtClaim: (queue, end, code) => parts.observe.endedAtClaim(queue, end, code),
    });
    this.#finisher = newFinisher(parts, workflows, store, this.#leases);
    this.#quarantine = new Quarantine({
      clock,
      log,
      firstPauseMs: times.quarantineMs,
      restartEngine: () => runner.restartEngine(),
      onOver: () => this.#intake.look(),
    });
    this.#groups = new GroupList(redis, keys, (group) => runner.serves(group));
    const redisParts = { commands: redis, blocking: parts.blocking, keys, queues, worker };
    const claimer = new Claimer(redisParts);
    this.#searcher = new Claimer(redisParts);
    const mayClaim = (): boolean =>
      runner.isUp && outputs.breaker.isClosed && this.#quarantine.reason === undefined;
    this.#intake = new Intake({
      claimer,
      attempts: this.#attempts,
      runner,
      clock,
      log,
      groups: () => this.#groups.names,
      models: () => this.#groups.models,
      mayClaim,
      onClaimed: (queue, jobs, ms) => parts.observe.claimed(queue, jobs, ms),
    });
    this.#direct = new DirectRuns({
      ...parts,
      usageMs: parts.records.usageMs,
      runner,
      mayRun: () => mayClaim() && this.#attempts.freeJobs > 0,
      onStarted: (run) => void this.#attempts.runToEnd(run, NOT_FOLLOWED),
    });
    this.#idleWatch = new IdleWatch({
      clock,
      log,
      idleMs: times.maxIdleMs,
      heads: () => claimer.findWork(this.#groups.models, [], runner.fullTenants),
      room: (group, priority) => runner.room(group, priority),
      isIdle: () => mayClaim() && !this.#intake.isFailing && this.#attempts.size === 0,
      claims: () => this.#intake.claims,
      onStuck,
    });
    this.#janitor = newJanitor(parts);
  }

  get activeJobs(): number {
    return this.#attempts.size;
  }

  get leases(): number {
    return this.#leases.size;
  }

  get groups(): readonly string[] {
    return this.#groups.names;
  }

  /** Why the worker is in quarantine and claims no jobs; undefined while it is not. */
  get quarantineReason(): string | undefined {
    return this.#quarantine.reason;
  }

  /** Whether jobs of this model (`name@version`) are being claimed. */
  isClaiming(ref: string): boolean {
    const { claiming } = this.#intake;
    const group = claiming === undefined ? undefined : parseGroupQueueName(claiming);
    return group !== undefined && formatModelRef(group.model) === ref;
  }

  /** Heads of the groups of these models, loaded or not; of all groups, over several calls. */
  findWaiting(models: readonly string[]): Promise<GroupHead[]> {
    return this.#searcher.findWork(models);
  }

  /** Whether the last `findWaiting` looked at all groups with waiting jobs. */
  get sawAllWaiting(): boolean {
    return this.#searcher.searchedAll;
  }

  /** Starts everything but the claiming. The runner must be up. */
  async start(): Promise<void> {
    const { subscriber, keys, id } = this.#parts;
    await subscribeToAnnouncements({
      subscriber,
      keys,
      worker: id,
      onGroup: (queue) => this.#groups.add(queue) && this.#intake.look(),
      onRetired: (queue) => this.#forgetGroup(queue),
      onCancel: (job) => this.#attempts.cancel(job),
      onPausedNow: (target) => this.#attempts.handBack(target),
      onReconnect: () => void this.#readMissed(),
    });
    await this.#groups.load();
    this.#leases.start();
    this.#janitor.start();
  }

  async startClaiming(): Promise<void> {
    this.#intake.start();
    this.#idleWatch.start();
    await this.#direct.open();
  }

  /** There may be room for more jobs. */
  roomFreed(): void {
    this.#intake.roomFreed();
  }

  /** Resolves when a claim under way has been started. */
  async stopClaiming(): Promise<void> {
    this.#idleWatch.stop();
    this.#direct.close();
    await this.#intake.stop();
  }

  /** Lets running jobs finish for `graceMs`, then hands the rest back to their queues. */
  drain(graceMs: number): Promise<void> {
    return this.#attempts.drain(graceMs);
  }

  async close(): Promise<void> {
    this.#leases.stop();
    this.#quarantine.close();
    await this.#janitor.stop();
  }

  async #finish(run: JobRun): Promise<JobState | undefined> {
    if (run.isDirect) return await this.#direct.finish(run);
    return await (run.stopReason ? this.#finisher.stop(run, run.stopReason) : this.#finisher.succeed(run));
  }

  #ended(run: JobRun, end: JobState | undefined): void {
    this.#leases.remove(run.claim);
    this.#parts.observe.ended(run, end);
    this.#runner.ended(run, end);
    this.#judge(run);
    this.#intake.roomFreed();
  }

  #judge({ record, stopReason }: JobRun): void {
    if (!stopReason) this.#quarantine.succeeded(record);
    else if (stopReason.kind === 'failed') this.#quarantine.failed(record, stopReason.code);
  }

  #leaseLost(lease: LeaseToken): void {
    this.#parts.observe.leaseLost();
    this.#attempts.stop(lease, { kind: 'lost' });
  }

  #forgetGroup(queue: string): void {
    this.#groups.remove(queue);
    this.#intake.forget(queue);
    this.#parts.queues.forget(queue);
  }

  /** Groups, cancels and pauses that were announced while the connection was down. */
  async #readMissed(): Promise<void> {
    await this.reloadGroups();
    // After a failure the next reconnect reads.
    const canceled = await this.#parts.records.cancelRequested(this.#leases.jobs).catch(() => []);
    for (const job of canceled) this.#attempts.cancel(job);
    const pauses = await readPauses(this.#parts.commands, this.#parts.keys).catch(() => []);
    for (const pause of pauses) if (pause.now) this.#attempts.handBack(targetOf(pause));
  }

  /** Finds groups that were announced meanwhile, and those of models that were opened since. */
  async reloadGroups(): Promise<void> {
    try {
      await this.#groups.load();
      this.#intake.look();
    } catch {
      // The connection is down again; the next reconnect reloads.
    }
  }
}

function newFinisher(
  { outputs, records, queues, clock, log, id: worker }: QueueSideParts,
  workflows: WorkflowRunner,
  store: AttemptStore,
  leases: Leases,
): JobFinisher {
  return new JobFinisher({
    outputs,
    store,
    records,
    queues,
    workflows,
    clock,
    log,
    worker,
    onClosing: ({ claim }) => leases.close(claim),
  });
}

function newJanitor({
  commands: redis,
  keys,
  queues,
  records,
  clock,
  log,
  times,
  observe,
}: QueueSideParts): Janitor {
  return new Janitor({
    redis,
    keys,
    queues,
    records,
    clock,
    log,
    everyMs: times.janitorEveryMs,
    reconcileEveryMs: times.reconcileEveryMs,
    groupIdleMs: times.groupIdleMs,
    onExpired: (job) => observe.expired(job),
    onDone: (action, count) => observe.janitorDid(action, count),
  });
}
