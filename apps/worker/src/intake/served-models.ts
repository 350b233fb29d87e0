/** Which group queues this worker can serve, and what to expect of their jobs before one is claimed. */
import { formatModelRef, parseGroupQueueName, type Registry, rowsPerSample, type Task } from '@lehr/shared';
import type { OpenedModel } from '../engine/protocol.ts';

/** Rows assumed for a lane when nothing of its model was measured. */
const UNMEASURED_ROWS = 8;

export class ServedModels {
  readonly #opened: () => readonly OpenedModel[];
  readonly #registry: Registry;
  readonly #tasks: readonly Task[];

  constructor(opened: () => readonly OpenedModel[], registry: Registry, tasks: readonly Task[]) {
    this.#opened = opened;
    this.#registry = registry;
    this.#tasks = tasks;
  }

  /**
   * An aligned model serves the groups that are not split by steps too: a job may have been posted before anybody knew, and
   * its lane keeps apart what cannot share a batch.
   */
  serves(queue: string): boolean {
    const group = parseGroupQueueName(queue);
    return group !== undefined && this.#tasks.includes(group.task) && this.#find(queue) !== undefined;
  }

  /** Rows a lane may have before it was measured itself. */
  firstCap(queue: string): number {
    return this.#find(queue)?.rowCap ?? UNMEASURED_ROWS;
  }

  /** Rows a job of this group usually takes; what it really takes is known once it is claimed. */
  usualRows(queue: string): number {
    const group = parseGroupQueueName(queue);
    const model = group && this.#registry.find(group.model)?.model;
    if (model?.task === 'whisper') return 1;
    return rowsPerSample(model?.defaults.guidance ?? Number.POSITIVE_INFINITY);
  }

  #find(queue: string): OpenedModel | undefined {
    const group = parseGroupQueueName(queue);
    return group && this.#opened().find(({ ref }) => ref === formatModelRef(group.model));
  }
}
