/** Which models other live workers have loaded with room for jobs, and since when this worker has seen that. */
import { formatModelRef, parseGroupQueueName, type WorkerId, type WorkerStatus } from '@lehr/shared';

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
