/**
 * One worker: an intake that claims, an engine process that draws, and everything that must go on beside them. Built from
 * parts that are already open; `start` serves, `stop` drains.
 */
import type { JobId, JobState } from '@lehr/shared';
import { Claimer, Janitor, Leases, WorkflowRunner } from '@lehr/shared/queue';
import { JobFinisher } from './delivery/job-finisher.ts';
import { OutputStore } from './delivery/output-store.ts';
import type { FromEngine } from './engine/protocol.ts';
import { FleetReporter } from './fleet/fleet-reporter.ts';
import { Previews } from './fleet/previews.ts';
import { ProgressWriter } from './fleet/progress.ts';
import { LaneSpeeds } from './fleet/speeds.ts';
import { workerStatus } from './fleet/worker-status.ts';
import { hearAnnouncements } from './intake/announcements.ts';
import { GroupList } from './intake/group-list.ts';
import { Intake } from './intake/intake.ts';
import { Ledger } from './intake/ledger.ts';
import { ServedModels } from './intake/served-models.ts';
import { logModel } from './log-model.ts';
import { Deadlines } from './runs/deadlines.ts';
import type { JobRun } from './runs/job-run.ts';
import { runFor } from './runs/run-for.ts';
import { Runs } from './runs/runs.ts';
import { EngineSupervisor } from './supervisor/engine-supervisor.ts';
import type { WorkerParts } from './worker-parts.ts';

export class Worker {
  readonly #parts: WorkerParts;
  readonly #ledger: Ledger;
  readonly #leases: Leases;
  readonly #runs: Runs;
  readonly #progress: ProgressWriter;
  readonly #engine: EngineSupervisor;
  readonly #intake: Intake;
  readonly #groups: GroupList;
  readonly #janitor: Janitor;
  readonly #reporter: FleetReporter;
  readonly #speeds = new LaneSpeeds();
  readonly #startedAt: number;
  readonly #deadlines = new Deadlines((id) => this.#stopRun(id, { kind: 'expired' }));
  #draining = false;

  constructor(parts: WorkerParts) {
    const { clock, log, keys, queues, records, store, times } = parts;
    this.#parts = parts;
    this.#startedAt = clock.now();
    const served = new ServedModels(() => this.#engine.models, parts.registry, parts.tasks);
    this.#ledger = new Ledger((lane) => served.firstCap(lane));
    this.#leases = new Leases({
      queues,
      log,
      renewEveryMs: times.renewEveryMs,
      onLost: ({ jobId }) => {
        parts.observe.lost();
        this.#stopRun(jobId, { kind: 'lost' });
      },
    });
    const previews = new Previews({
      redis: parts.commands,
      keys,
      clock,
      log,
      send: (message) => this.#engine.send(message),
    });
    this.#progress = new ProgressWriter({
      records,
      clock,
      log,
      everyMs: times.progressEveryMs,
      onOutcome: (run, { code, cancelRequested, watched }) => {
        previews.follow(run, watched);
        if (code === 'stale' || code === 'ended' || code === 'missing')
          this.#runs.stop(run, { kind: 'lost' });
        else if (cancelRequested) this.#runs.stop(run, { kind: 'canceled' });
      },
    });
    const outputs = new OutputStore({ store, clock, log, patienceMs: times.storePatienceMs });
    const workflows = new WorkflowRunner({ redis: parts.commands, keys, records, queues });
    const finisher = new JobFinisher({
      outputs,
      records,
      queues,
      workflows,
      clock,
      log,
      worker: parts.id,
      onClosing: (run) => this.#leases.remove(run.record.id),
    });
    this.#runs = new Runs({
      ledger: this.#ledger,
      finisher,
      progress: this.#progress,
      previews,
      clock,
      log,
      send: (message) => this.#engine.send(message),
      onRoom: () => this.#intake.look(),
      onOver: (run, end) => this.#over(run, end),
    });
    this.#engine = new EngineSupervisor({
      engine: parts.engine,
      clock,
      log,
      isBusy: () => this.#runs.engineIsBusy,
      onMessage: (message) => this.#hear(message),
      onDied: (exit) => {
        parts.observe.restarted(exit);
        this.#runs.engineDied(exit);
      },
      onBack: () => {
        this.#runs.resubmit();
        this.#intake.look();
      },
      onHopeless: (error) => {
        log.error({ error }, 'the engine is gone for good; handing all jobs back');
        parts.onHopeless();
      },
    });
    this.#groups = new GroupList(parts.commands, keys, (group) => served.serves(group));
    const claimer = new Claimer({
      commands: parts.commands,
      blocking: parts.blocking,
      keys,
      queues,
      worker: parts.id,
    });
    this.#intake = new Intake({
      worker: parts.id,
      claimer,
      queues,
      records,
      workflows,
      leases: this.#leases,
      ledger: this.#ledger,
      runs: this.#runs,
      clock,
      log,
      groups: () => this.#groups.names,
      mayClaim: () => this.#engine.isUp && !outputs.isFailing,
      usualRows: (group) => served.usualRows(group),
      runFor: (claim, record, claimedAt) =>
        runFor(claim, record, claimedAt, {
          ...parts,
          store: outputs,
          opened: () => this.#engine.models,
          onText: (run, text, offset) => this.#tell(run, text, offset),
        }),
      onUnrun: (queue, end) => parts.observe.unrun(queue, end),
      onStarted: (run, { watched }) => {
        this.#deadlines.watch(run);
        previews.follow(run, watched);
      },
    });
    this.#reporter = new FleetReporter({
      ...parts,
      everyMs: times.reportEveryMs,
      status: () =>
        workerStatus({
          ...parts,
          startedAt: this.#startedAt,
          draining: this.#draining,
          models: this.#engine.models,
          ledger: this.#ledger,
          speeds: this.#speeds,
        }),
    });
    this.#janitor = new Janitor({
      redis: parts.commands,
      keys,
      queues,
      records,
      clock,
      log,
      everyMs: times.janitorEveryMs,
      reconcileEveryMs: times.reconcileEveryMs,
      onExpired: (job) => parts.observe.expired(job),
    });
  }

  get jobsInHand(): number {
    return this.#runs.size;
  }

  get leases(): number {
    return this.#leases.size;
  }

  get engineRestarts(): number {
    return this.#engine.restarts;
  }

  get enginePid(): number | undefined {
    return this.#engine.pid;
  }

  get isServing(): boolean {
    return this.#engine.isUp && !this.#draining;
  }

  /** Opens the models, then takes jobs. Rejects with the reason when the models cannot be opened. */
  async start(): Promise<void> {
    const { subscriber, keys, id, log } = this.#parts;
    await this.#engine.start();
    for (const model of this.#engine.models) logModel(log, model);
    if (this.#engine.models.some(({ whisper }) => whisper)) await this.#parts.audio.warmUp();
    await hearAnnouncements({
      subscriber,
      keys,
      worker: id,
      onGroup: (queue) => this.#groups.learn(queue) && this.#intake.look(),
      onCancel: (job) => {
        this.#intake.cancel(job);
        this.#stopRun(job, { kind: 'canceled' });
      },
      onBack: () => {
        // A Redis that goes away again at once comes back again too.
        this.#groups.load().then(
          () => this.#intake.look(),
          () => {},
        );
      },
    });
    await this.#groups.load();
    this.#leases.start();
    this.#janitor.start();
    await this.#reporter.start();
    this.#intake.start();
    log.info({ worker: id, groups: this.#groups.names.length }, 'worker serves');
  }

  /**
   * Claims nothing any more, lets running jobs finish for `graceMs`, hands the rest back, then closes the engine. Leases
   * are renewed to the end: a drain that loses them would make duplicates.
   */
  async stop(graceMs: number): Promise<void> {
    const { clock, log } = this.#parts;
    this.#draining = true;
    await this.#intake.stop();
    await this.#reporter.report();
    log.info({ inHand: this.#runs.size, graceMs }, 'draining');
    const giveUpAt = clock.monotonic() + graceMs;
    while (this.#runs.size > 0 && clock.monotonic() < giveUpAt)
      await this.#nextOver(giveUpAt - clock.monotonic());
    for (const run of this.#runs.all()) this.#runs.stop(run, { kind: 'handed-back' });
    const handBackBy = clock.monotonic() + HAND_BACK_MS;
    while (this.#runs.size > 0 && clock.monotonic() < handBackBy)
      await this.#nextOver(handBackBy - clock.monotonic());
    this.#progress.stop();
    await Promise.all([this.#engine.close(ENGINE_CLOSE_MS), this.#parts.audio.close()]);
    this.#leases.stop();
    await this.#janitor.stop();
    await this.#reporter.stop();
  }

  #onOver: (() => void) | undefined;

  /** Resolves when a job is over, or after `ms`. */
  async #nextOver(ms: number): Promise<void> {
    const waiting = new AbortController();
    this.#onOver = () => waiting.abort();
    await this.#parts.clock.sleep(ms, waiting.signal);
  }

  #over(run: JobRun, end: JobState | undefined): void {
    this.#leases.remove(run.record.id);
    this.#deadlines.forget(run.record.id);
    this.#parts.observe.over(run, end);
    this.#onOver?.();
    this.#intake.look();
  }

  #hear(message: FromEngine): void {
    if (message.type === 'ready' || message.type === 'open-failed') return;
    if (message.type === 'stepped') {
      this.#speeds.stepped(message.lane, message.rows, message.ms);
      this.#parts.observe.stepped(message);
    }
    if (message.type === 'decoder-progress') this.#parts.observe.wrote(message);
    if (message.type === 'transcribed') this.#speeds.heard(this.#ledger.laneOf(message.sample), message);
    this.#runs.hear(message);
  }

  /** Missing it costs a follower a part of the text a little earlier than the whole. */
  #tell(run: JobRun, text: string, offset: number): void {
    const { records, log } = this.#parts;
    const { id } = run.record;
    records
      .apply([{ move: 'output', id, lease: run.lease, data: { text, offset } }])
      .catch((error: unknown) => log.debug({ job: id, error }, 'a part of the text was not told'));
  }

  #stopRun(id: JobId, reason: Parameters<Runs['stop']>[1]): void {
    const run = this.#runs.find(id);
    if (run) this.#runs.stop(run, reason);
  }
}

const HAND_BACK_MS = 10_000;
const ENGINE_CLOSE_MS = 5_000;
