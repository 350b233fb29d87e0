/** What a worker does when its engine has opened a model, or cannot: it logs and counts that, measures the load, and prepares audio. */
import { type JobState, type LoadStage, type Log, type ModelLoad, noteModelLoad } from '@lehr/shared';
import type { OpenedModel, UnavailableModel } from '../engine/protocol/messages.ts';
import type { JobRun } from './runs/job-run.ts';
import type { WorkerParts } from './runs/worker-parts.ts';

export class OpenedModels {
  readonly #parts: WorkerParts;
  /** Models that were opened and have not run a job to its end since. */
  readonly #unanswered = new Set<string>();
  /** Once for all models: they use the same decoder and threads. */
  #audioReady: Promise<void> | undefined;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
  }

  /** The folder of a model was fetched. */
  fetched(ref: string, ms: number): void {
    this.#note(ref, { pull: this.#now(ms) });
  }

  /** Resolves when jobs of the model can be prepared. */
  async opened(model: OpenedModel): Promise<void> {
    logModel(this.#parts.log, model);
    const { ref, openMs = 0, warmUpMs = 0, grownBytes } = model;
    this.#unanswered.add(ref);
    const open = { ...this.#now(Math.max(0, openMs - warmUpMs)), ...(grownBytes && { bytes: grownBytes }) };
    this.#note(ref, { open, 'warm-up': this.#now(warmUpMs) });
    if (!model.whisper) return;
    this.#audioReady ??= this.#prepareAudio();
    await this.#audioReady;
  }

  unavailable(model: UnavailableModel): void {
    logUnavailable(this.#parts.log, model);
  }

  /** A job of a model ended here. */
  ended({ record, claimedAt }: JobRun, end: JobState | undefined): void {
    if (end !== 'succeeded' || !this.#unanswered.delete(record.model)) return;
    this.#note(record.model, { 'first-answer': this.#now(this.#parts.clock.monotonic() - claimedAt) });
  }

  #now(ms: number) {
    return { at: this.#parts.clock.now(), ms: Math.round(ms) };
  }

  /** How long a part of a load took, for the metrics and the API; one that cannot be written is only missing in the answers of the API. */
  #note(ref: string, load: ModelLoad): void {
    const { commands, keys, log, observe } = this.#parts;
    for (const [stage, measured] of Object.entries(load))
      observe.modelLoaded(ref, stage as LoadStage, measured.ms);
    noteModelLoad(commands, keys, ref, load).catch((error: unknown) =>
      log.debug({ error }, 'the load of a model could not be noted'),
    );
  }

  async #prepareAudio(): Promise<void> {
    const { audio, log } = this.#parts;
    const [problem] = await Promise.all([audio.checkDecoder(), audio.warmUp()]);
    if (problem !== undefined) log.error({ problem }, 'audio cannot be decoded; jobs that need it will fail');
  }
}

/** Logs the provider that runs each graph, and the providers that refused it. */
function logModel(log: Log, opened: OpenedModel): void {
  const { ref, batching, reason, graphs, stepMs, rowCap, grownBytes, adapters = [], controls = [] } = opened;
  log.info({ model: ref, batching, graphs, stepMs, rowCap, grownBytes }, 'model opened');
  for (const { graph, provider, refusals } of graphs) {
    if (refusals)
      log.warn({ model: ref, graph, provider, refusals }, 'a preferred provider refused this graph');
  }
  if (batching === 'aligned') {
    log.warn({ model: ref, reason }, 'this model takes one timestep for all rows: its batches are aligned');
  }
  for (const { name: adapter, problem } of adapters)
    if (problem)
      log.error({ model: ref, adapter, problem }, 'adapter cannot be used; the model serves without it');
  for (const { name: control, problem } of controls)
    if (problem)
      log.error({ model: ref, control, problem }, 'ControlNet cannot be used; the model serves without it');
}

/** Jobs of the model wait until it can be opened, here or on another worker. */
const logUnavailable = (log: Log, { ref, failure }: UnavailableModel): void =>
  log.error({ model: ref, failure }, 'model cannot be opened; the worker serves without it');
