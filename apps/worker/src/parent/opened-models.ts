/** What a worker does when its engine has opened a model, or cannot: it logs and counts that, measures the load, and prepares audio. */
import type { JobState } from '@lehr/shared';
import type { OpenedModel, UnavailableModel } from '../engine/protocol/messages.ts';
import { logModel, logUnavailable } from './log-model.ts';
import { ModelLoads } from './reports/model-loads.ts';
import type { JobRun } from './runs/job-run.ts';
import type { WorkerParts } from './runs/worker-parts.ts';

export class OpenedModels {
  readonly #parts: WorkerParts;
  readonly #loads: ModelLoads;
  /** Once for all models: they use the same decoder and threads. */
  #audioReady: Promise<void> | undefined;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#loads = new ModelLoads({ ...parts, redis: parts.commands, observe: parts.observe.modelLoaded });
  }

  /** The folder of a model was fetched. */
  fetched(ref: string, ms: number): void {
    this.#loads.pulled(ref, ms);
  }

  /** Resolves when jobs of the model can be prepared. */
  async opened(model: OpenedModel): Promise<void> {
    logModel(this.#parts.log, model);
    this.#loads.opened(model);
    if (!model.whisper) return;
    this.#audioReady ??= this.#prepareAudio();
    await this.#audioReady;
  }

  unavailable(model: UnavailableModel): void {
    logUnavailable(this.#parts.log, model);
  }

  /** A job of a model ended here. */
  ended(run: JobRun, end: JobState | undefined): void {
    this.#loads.ended(run, end);
  }

  async #prepareAudio(): Promise<void> {
    const { audio, log } = this.#parts;
    const [problem] = await Promise.all([audio.checkDecoder(), audio.warmUp()]);
    if (problem !== undefined) log.error({ problem }, 'audio cannot be decoded; jobs that need it will fail');
  }
}
