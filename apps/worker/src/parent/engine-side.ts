/**
 * The engine side of a worker: the engine process, the jobs that run on it, and what is reported about them. It knows
 * nothing of queues and leases; it reports room to its listener.
 */
import {
  formatModelRef,
  type JobState,
  laneSpeed,
  type PriorityClass,
  parseGroupQueueName,
  type RunningReport,
  textCostMs,
  transformCostMs,
  type WorkerStatus,
} from '@lehr/shared';
import type { Claim, FullTenant } from '@lehr/shared/queue';
import type { JobRecord, Outcome } from '@lehr/shared/records';
import type { ModelToOpen, OpenedModel, UnavailableModel } from '../engine/protocol/messages.ts';
import type { StopReason } from './delivery/attempt.ts';
import type { OutputStore } from './delivery/output-store.ts';
import { dispatch, type EngineMessageParts } from './engine-messages.ts';
import { OpenedModels } from './opened-models.ts';
import { type JobSpans, jobSpans } from './reports/job-spans.ts';
import { LaneCalls, runningReport } from './reports/running.ts';
import { ShownJobs } from './reports/shown-jobs.ts';
import { LaneSpeeds, type LaneStatus, laneStatus } from './reports/worker-status.ts';
import type { ResidentEngine } from './residency.ts';
import { type ChargeAudio, chargeAudio } from './runs/charge.ts';
import { Checkpoints } from './runs/checkpoints.ts';
import { InputShares } from './runs/input-shares.ts';
import type { JobRun } from './runs/job-run.ts';
import type { JobRunner, JobRunnerListener } from './runs/job-runner.ts';
import { LaneRows, type Room } from './runs/lane-rows.ts';
import { newRun } from './runs/new-run.ts';
import { Runs } from './runs/runs.ts';
import { ModelEntries, ServedModels } from './runs/served-models.ts';
import { textSource } from './runs/text-run.ts';
import type { WorkerParts } from './runs/worker-parts.ts';
import { type EngineExit, submitTogether } from './supervisor/engine-process.ts';
import { EngineSupervisor } from './supervisor/engine-supervisor.ts';
import { SilenceLimit } from './supervisor/silence-limit.ts';

export interface EngineSideParts extends WorkerParts {
  readonly outputs: OutputStore;
}

/** Time for the engine to finish its current step when it is closed. */
const CLOSE_GRACE_MS = 5_000;

export class EngineSide implements JobRunner {
  readonly #parts: EngineSideParts;
  readonly #supervisor: EngineSupervisor;
  readonly #entries: ModelEntries;
  readonly #served: ServedModels;
  readonly #laneRows: LaneRows;
  readonly #inputs: InputShares;
  readonly #shown: ShownJobs;
  readonly #checkpoints: Checkpoints | undefined;
  readonly #runs: Runs;
  readonly #opened: OpenedModels;
  readonly #speeds = new LaneSpeeds();
  readonly #calls: LaneCalls;
  readonly #silence: SilenceLimit;
  readonly #chargeAudio: ChargeAudio;
  readonly #spans: JobSpans | undefined;
  readonly #messageParts: EngineMessageParts;
  #listener: JobRunnerListener | undefined;
  /** When a job of each model ended here last, by the monotonic clock. */
  readonly #lastUses = new Map<string, number>();
  #lastError: WorkerStatus['last_error'];

  constructor(parts: EngineSideParts) {
    const { clock, log, checkpoints: store } = parts;
    const isLimited = parts.modelBytes !== undefined;
    const supervisor = new EngineSupervisor({ engine: parts.engine, clock, log, isLimited });
    const send = submitTogether((message) => supervisor.send(message));
    this.#parts = parts;
    this.#supervisor = supervisor;
    this.#calls = new LaneCalls(clock);
    this.#opened = new OpenedModels(parts);
    this.#silence = new SilenceLimit(parts.engine.silenceMs);
    this.#entries = new ModelEntries(parts.registry, () => supervisor.models.opened);
    this.#served = new ServedModels(() => supervisor.models.served, this.#entries, parts.tasks);
    this.#laneRows = new LaneRows(this.#served, () => this.#listener?.onRoom());
    this.#inputs = new InputShares(() => this.#listener?.onRoom());
    this.#shown = new ShownJobs(parts, send);
    this.#chargeAudio = chargeAudio({ repricer: parts.repricer, clock, lanes: () => this.lanes });
    this.#checkpoints = store && new Checkpoints({ store, clock, log, observe: parts.observe.checkpoint });
    this.#runs = new Runs({
      laneRows: this.#laneRows,
      inputs: this.#inputs,
      progress: this.#shown.progress,
      previews: this.#shown.previews,
      checkpoints: this.#checkpoints,
      clock,
      log,
      send,
    });
    this.#spans = jobSpans(parts, (id) => this.#runs.find(id));
    this.#messageParts = {
      runs: this.#runs,
      laneRows: this.#laneRows,
      speeds: this.#speeds,
      calls: this.#calls,
      silence: this.#silence,
      observe: parts.observe,
      log,
      spans: this.#spans,
    };
  }

  get isUp(): boolean {
    return this.#supervisor.isUp;
  }

  get pid(): number | undefined {
    return this.#supervisor.pid;
  }

  get restarts(): number {
    return this.#supervisor.restarts;
  }

  get models(): readonly OpenedModel[] {
    return this.#supervisor.models.served;
  }

  /** Those of them that jobs are claimed for. */
  get offered(): readonly OpenedModel[] {
    return this.#served.offered;
  }

  /** Models of a changed models.yaml are opened and closed while the engine runs. */
  wantModels(models: readonly ModelToOpen[]): void {
    this.#supervisor.models.want(models);
    this.#entries.readRegistry();
  }

  /** How models are loaded and unloaded while the engine runs, when there is a memory budget. */
  get resident(): ResidentEngine {
    return {
      isUp: () => this.isUp,
      models: this.#supervisor.models,
      usesModel: (ref) => this.#runs.usesModel(ref),
      lastUse: (ref) => this.#lastUses.get(ref),
      companions: (ref) => this.#entries.companions(ref),
    };
  }

  get unavailable(): readonly UnavailableModel[] {
    const { unavailable } = this.#supervisor.models;
    return [...unavailable, ...this.#served.lacking(unavailable)];
  }

  get lanes(): LaneStatus[] {
    return laneStatus(this.#laneRows, this.#speeds);
  }

  /** The calls are those since this was read before. */
  takeRunning(): Omit<RunningReport, 'counts'> {
    return runningReport(this.#runs.submitted, this.#calls.take());
  }

  /** The last death of the engine; undefined while it has not died. */
  get lastError(): WorkerStatus['last_error'] {
    return this.#lastError;
  }

  serves(group: string): boolean {
    return this.#served.serves(group);
  }

  /** A speech job is claimed only where its audio can be decoded soon; until then another worker may have room. */
  room(group: string, priority: PriorityClass): Room {
    const isClosed = !this.serves(group) && (this.#parts.modelBytes !== undefined || this.#wants(group));
    const maxAudioS = this.#served.maxAudioS(group);
    const canDecode = maxAudioS === undefined || this.#parts.audio.hasRoom(maxAudioS, priority);
    // As if its lane ran, so that no other group makes way for it.
    if (isClosed || !canDecode) return { running: true, freeRows: 0 };
    return this.#laneRows.room(group, priority);
  }

  /** Whether its model will be open again: a file of it has changed, or its engine starts. */
  #wants(queue: string): boolean {
    const group = parseGroupQueueName(queue);
    const ref = group && formatModelRef(group.model);
    return this.#supervisor.models.wanted.some((model) => model.ref === ref);
  }

  get fullTenants(): readonly FullTenant[] {
    return this.#inputs.full;
  }

  /** Jobs whose input is still being fetched or decoded. */
  get jobsWithoutInput(): number {
    return this.#inputs.size;
  }

  usualJobs(group: string, rows: number): number {
    return this.#laneRows.usualJobs(group, rows);
  }

  newRun(claim: Claim, record: JobRecord, claimedAt: number): JobRun {
    const { outputs, fetchMedia, store } = this.#parts;
    const fetchTexts = textSource(store);
    return newRun(claim, record, claimedAt, {
      ...this.#parts,
      store: outputs,
      models: this.#supervisor.models.opened,
      entries: this.#entries,
      chargeAudio: this.#chargeAudio,
      costOf: (queue, rows) => {
        const costMs = parseGroupQueueName(queue)?.task === 'transform' ? transformCostMs : textCostMs;
        return costMs(rows, laneSpeed(queue, this.lanes));
      },
      fetchMedia: (...media) => outputs.orStoreDown(fetchMedia(...media)),
      fetchTexts: (texts, signal) => outputs.orStoreDown(fetchTexts(texts, signal)),
      readCheckpoints: async (of) => this.#checkpoints?.read(of) ?? new Map(),
      onText: (run, part) => this.#shown.showText(run, part),
    });
  }

  run(run: JobRun, started: Pick<Outcome, 'followed' | 'watched'>): Promise<void> {
    this.#shown.follow(run, started);
    this.#spans?.started(run);
    return this.#runs.run(run);
  }

  modelFetched(ref: string, ms: number): void {
    this.#opened.fetched(ref, ms);
  }

  ended(run: JobRun, end: JobState | undefined): void {
    this.#opened.ended(run, end);
    if (this.#parts.modelBytes !== undefined)
      for (const ref of run.models) this.#lastUses.set(ref, this.#parts.clock.monotonic());
    this.#spans?.ended(run, end);
  }

  stop(run: JobRun, reason: StopReason): void {
    this.#runs.stop(run, reason);
  }

  restartEngine(): void {
    if (!this.#runs.engineIsBusy) this.#supervisor.restart();
  }

  /** Opens the models. Rejects with the reason when none can be opened. */
  async start(listener: JobRunnerListener): Promise<void> {
    const { audio, log } = this.#parts;
    this.#listener = listener;
    audio.onRoom(() => listener.onRoom());
    this.#shown.start((run, reason) => this.#runs.stop(run, reason));
    await this.#supervisor.start({
      isBusy: () => this.#runs.engineIsBusy,
      usesModel: (ref) => this.#runs.usesModel(ref),
      silenceMs: () =>
        this.#silence.ms(this.#supervisor.models.isOpening ? undefined : this.#runs.runningLane),
      onMessage: (message) => dispatch(this.#messageParts, message),
      onDied: (exit) => this.#engineDied(exit),
      onRestarted: () => this.#engineRestarted(),
      onModelOpened: (model) => {
        void this.#opened.opened(model);
        listener.onModelsChanged();
      },
      onModelUnavailable: (model) => this.#opened.unavailable(model),
      onGivenUp: (error) => {
        log.error({ error }, 'the engine cannot be restarted; the worker hands its jobs back');
        listener.onEngineLost();
      },
    });
    const opened = this.models.map((model) => this.#opened.opened(model));
    for (const model of this.unavailable) this.#opened.unavailable(model);
    await Promise.all(opened);
  }

  /** No job may be running any more. */
  async close(): Promise<void> {
    this.#shown.stop();
    const { audio, pictures } = this.#parts;
    await Promise.all([this.#supervisor.close(CLOSE_GRACE_MS), audio.close(), pictures.work.close()]);
  }

  #engineDied(exit: EngineExit): void {
    this.#parts.observe.engineDied(exit);
    const how = exit.hung ? 'hung' : `died (${exit.signal ?? `code ${exit.code}`})`;
    this.#lastError = { at: this.#parts.clock.now(), message: `The engine ${how}.` };
    this.#runs.engineDied(exit);
  }

  #engineRestarted(): void {
    this.#runs.resubmit();
    this.#listener?.onModelsChanged();
    this.#listener?.onRoom();
  }
}
