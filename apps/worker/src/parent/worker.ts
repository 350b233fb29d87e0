/**
 * One worker, built from parts that are already open: `start` serves jobs, `stop` drains.
 *
 * It has two halves. The queue side claims jobs and writes their ends; the engine side runs them. The queue side calls the
 * engine side through `JobRunner`; the engine side reports free room through the listener that it gets at its start, so
 * that each half is complete before the other can call it.
 */
import { readFleet } from '@lehr/shared';
import type { GraphReport, ModelToOpen } from '../engine/protocol/messages.ts';
import { OutputStore, type StoreBreaker } from './delivery/output-store.ts';
import { EngineSide } from './engine-side.ts';
import { QueueSide } from './queue-side.ts';
import { FleetReporter } from './reports/fleet-reporter.ts';
import { modelStatus, unavailableStatus } from './reports/worker-status.ts';
import { Residency } from './residency.ts';
import type { WorkerParts } from './runs/worker-parts.ts';

export interface WorkerListener {
  /** The engine died and cannot be restarted: the worker should be stopped, so that it hands its jobs back. */
  onEngineLost(): void;
  /** The worker is idle and claims no jobs although some wait: its process should exit. It holds no jobs. */
  onStuck(): void;
}

export class Worker {
  readonly #parts: WorkerParts;
  readonly #engineSide: EngineSide;
  readonly #queueSide: QueueSide;
  readonly #reporter: FleetReporter;
  /** Absent without a memory budget. */
  readonly #residency: Residency | undefined;
  readonly storeBreaker: Pick<StoreBreaker, 'isOpen' | 'pendingBytes'>;
  #draining = false;
  #listener: WorkerListener | undefined;

  constructor(parts: WorkerParts) {
    const { store, clock, log, times } = parts;
    const { storeRetryMs: retryMs, storeAttemptMs: attemptMs } = times;
    const outputs = new OutputStore({ store, clock, log, retryMs, attemptMs });
    const engineSide = new EngineSide({ ...parts, outputs });
    this.#parts = parts;
    this.storeBreaker = outputs.breaker;
    const startedAt = clock.now();
    this.#engineSide = engineSide;
    this.#queueSide = new QueueSide({ ...parts, outputs }, engineSide, () => this.#listener?.onStuck());
    this.#residency = this.#newResidency();
    this.#reporter = new FleetReporter({
      ...parts,
      everyMs: times.reportEveryMs,
      status: () => ({
        id: parts.id,
        started_at: startedAt,
        tasks: [...parts.tasks],
        draining: this.#draining,
        ...(this.quarantineReason !== undefined && { quarantined: this.quarantineReason }),
        ...(parts.audio.decoderProblem !== undefined && { audio_problem: parts.audio.decoderProblem }),
        ...(engineSide.lastError && { last_error: engineSide.lastError }),
        jobs: this.activeJobs,
        models: modelStatus(engineSide.offered),
        unavailable: unavailableStatus(engineSide.unavailable, parts.whyNotFetched),
        ...(this.#residency && { residency: this.#residency.status }),
        lanes: engineSide.lanes,
      }),
      running: () => engineSide.takeRunning(),
      counts: parts.counts ?? (async () => ({})),
    });
  }

  #newResidency(): Residency | undefined {
    const { modelBytes: budgetBytes, commands, keys } = this.#parts;
    if (budgetBytes === undefined) return undefined;
    return new Residency({
      ...this.#parts,
      budgetBytes,
      engine: this.#engineSide.resident,
      heads: (models) => this.#queueSide.findWaiting(models),
      sawAllHeads: () => this.#queueSide.sawAllWaiting,
      fleet: () => readFleet(commands, keys),
      isClaiming: (ref) => this.#queueSide.isClaiming(ref),
      onUnload: this.#parts.observe.modelUnloaded,
      onMove: () => {
        void this.#reporter.report();
        // Models that are being unloaded would count as shut out in the choice of a group.
        void this.#queueSide.reloadGroups();
      },
    });
  }

  get activeJobs(): number {
    return this.#queueSide.activeJobs;
  }

  get leases(): number {
    return this.#queueSide.leases;
  }

  get waveformBytes(): number {
    return this.#parts.audio.waveformBytes;
  }

  get engineRestarts(): number {
    return this.#engineSide.restarts;
  }

  get enginePid(): number | undefined {
    return this.#engineSide.pid;
  }

  /** Of every model that this worker should serve: its graphs, or undefined where it could not be opened. */
  get models(): readonly { readonly ref: string; readonly graphs?: readonly GraphReport[] }[] {
    const { models, unavailable } = this.#engineSide;
    return [...models, ...unavailable.map(({ ref }) => ({ ref }))];
  }

  /** With a memory budget: its models, and what each takes. */
  get residentModels() {
    return this.#residency?.status.models ?? [];
  }

  /** Jobs whose input is still being fetched or decoded. */
  get jobsWithoutInput(): number {
    return this.#engineSide.jobsWithoutInput;
  }

  get pausedSamples(): number {
    return this.#engineSide.lanes.reduce((sum, { paused }) => sum + paused, 0);
  }

  /** Why the worker is in quarantine and claims no jobs; undefined while it is not. */
  get quarantineReason(): string | undefined {
    return this.#queueSide.quarantineReason;
  }

  get isServing(): boolean {
    return this.#engineSide.isUp && !this.#draining;
  }

  /**
   * Why the worker cannot run all jobs that it serves, in a sentence; undefined when it can. A problem of decoding audio is checked
   * again: it may be solved.
   */
  async unreadyReason(): Promise<string | undefined> {
    const { audio } = this.#parts;
    if (!this.isServing) return 'not serving';
    if (this.quarantineReason !== undefined) return `in quarantine: ${this.quarantineReason}`;
    return audio.decoderProblem === undefined ? undefined : audio.checkDecoder();
  }

  /** The folder of a model was fetched in so many ms. */
  modelFetched(ref: string, ms: number): void {
    this.#engineSide.modelFetched(ref, ms);
  }

  /** Serves these models from now on: opens new ones, claims no more jobs of the others, and closes these when they are idle. */
  wantModels(models: readonly ModelToOpen[]): void {
    this.#engineSide.wantModels(models);
    if (this.#engineSide.isUp) void this.#queueSide.reloadGroups();
  }

  /** Opens the models, then claims jobs. Rejects with the reason when none can be opened. */
  async start(listener: WorkerListener): Promise<void> {
    const { id, log } = this.#parts;
    this.#listener = listener;
    await this.#engineSide.start({
      onRoom: () => this.#queueSide.roomFreed(),
      onModelsChanged: () => {
        this.#residency?.look();
        void this.#queueSide.reloadGroups();
      },
      onEngineLost: () => listener.onEngineLost(),
    });
    await this.#residency?.start();
    await this.#queueSide.start();
    await this.#reporter.start();
    await this.#queueSide.startClaiming();
    log.info({ worker: id, groups: this.#queueSide.groups.length }, 'worker serves');
  }

  /**
   * Stops claiming, lets running jobs finish for `graceMs`, hands the rest back, then closes the engine. Leases are renewed
   * to the end: a drain that lost them would run jobs twice.
   */
  async stop(graceMs: number): Promise<void> {
    this.#draining = true;
    await Promise.all([this.#residency?.stop(), this.#queueSide.stopClaiming()]);
    await this.#reporter.report();
    await this.#queueSide.drain(graceMs);
    await this.#engineSide.close();
    await this.#queueSide.close();
    await this.#reporter.stop();
    await this.#parts.tracing?.close();
  }
}
