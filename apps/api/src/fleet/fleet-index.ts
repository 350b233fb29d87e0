/**
 * Sums of what the workers reported, computed once per reading of the fleet: what a request asks of a thousand workers must not
 * take longer than what it asks of one.
 */
import { formatModelRef, parseGroupQueueName, type WorkerStatus } from '@lehr/shared';

type ResidentModel = NonNullable<WorkerStatus['residency']>['models'][number];

class Mean {
  #sum = 0;
  #count = 0;

  add(value: number): void {
    this.#sum += value;
    this.#count += 1;
  }

  get value(): number {
    return this.#sum / this.#count;
  }
}

export class FleetIndex {
  readonly #serving = new Map<string, WorkerStatus[]>();
  readonly #canLoad = new Map<string, ResidentModel[]>();
  readonly #aligned = new Set<string>();
  readonly #speeds = new Map<string, Mean>();
  readonly #pixelSpeeds = new Map<string, Mean>();
  readonly #shared = new Map<string, number>();
  readonly #promptTokens = new Map<string, number>();

  constructor(fleet: readonly WorkerStatus[]) {
    for (const worker of fleet) {
      this.#addModels(worker);
      for (const { queue, row_steps_per_s: speed } of worker.lanes)
        if (speed > 0) this.#addSpeed(queue, speed);
    }
  }

  /** Workers that take new jobs of this model (`name@version`). */
  serving(model: string): readonly WorkerStatus[] {
    return this.#serving.get(model) ?? [];
  }

  /** The model as the workers report it that do not have it loaded and can load it while they run. */
  canLoad(model: string): readonly ResidentModel[] {
    return this.#canLoad.get(model) ?? [];
  }

  /** How many workers take jobs of the model: it is loaded, or will be when a job waits. */
  available(model: string): number {
    return this.serving(model).length + this.canLoad(model).length;
  }

  /** How many workers take new jobs of both models. */
  servingBoth(model: string, other: string): number {
    const name = `${model} ${other}`;
    const known = this.#shared.get(name);
    if (known !== undefined) return known;
    const servers = new Set(this.serving(model));
    const count = this.serving(other).filter((worker) => servers.has(worker)).length;
    this.#shared.set(name, count);
    return count;
  }

  /** Whether a live worker can batch the model only when its jobs are aligned. */
  isAligned(model: string): boolean {
    return this.#aligned.has(model);
  }

  /** The most tokens of a prompt of a diffusion model; undefined when no worker reports it. */
  maxPromptTokens(model: string): number | undefined {
    return this.#promptTokens.get(model);
  }

  /** Row-steps per second of one worker on this group: the mean of the measurements; undefined without any. */
  speed(queue: string): number | undefined {
    return this.#speeds.get(queue)?.value;
  }

  /** Pixels times row-steps per second of one worker on this model: the mean over all sizes; undefined without measurements. */
  pixelSpeed(model: string): number | undefined {
    return this.#pixelSpeeds.get(model)?.value;
  }

  #addModels(worker: WorkerStatus): void {
    const takesJobs = !worker.draining && worker.quarantined === undefined;
    for (const ref of new Set(worker.models.map((model) => model.ref))) {
      if (!takesJobs) break;
      const serving = this.#serving.get(ref);
      if (serving) serving.push(worker);
      else this.#serving.set(ref, [worker]);
    }
    for (const model of takesJobs ? (worker.residency?.models ?? []) : []) {
      if (model.state === 'loaded') continue;
      const known = this.#canLoad.get(model.ref);
      if (known) known.push(model);
      else this.#canLoad.set(model.ref, [model]);
    }
    for (const { ref, batching, max_prompt_tokens: tokens } of worker.models) {
      if (batching === 'aligned') this.#aligned.add(ref);
      if (tokens !== undefined)
        this.#promptTokens.set(ref, Math.min(tokens, this.#promptTokens.get(ref) ?? tokens));
    }
  }

  #addSpeed(queue: string, speed: number): void {
    meanOf(this.#speeds, queue).add(speed);
    const group = parseGroupQueueName(queue);
    if (group?.task !== 'diffusion') return;
    meanOf(this.#pixelSpeeds, formatModelRef(group.model)).add(speed * group.width * group.height);
  }
}

function meanOf(means: Map<string, Mean>, name: string): Mean {
  const known = means.get(name);
  if (known) return known;
  const mean = new Mean();
  means.set(name, mean);
  return mean;
}

const indexes = new WeakMap<readonly WorkerStatus[], FleetIndex>();

/** The index of one reading of the fleet. The reading must not change afterwards. */
export function fleetIndex(fleet: readonly WorkerStatus[]): FleetIndex {
  const known = indexes.get(fleet);
  if (known) return known;
  const index = new FleetIndex(fleet);
  indexes.set(fleet, index);
  return index;
}
