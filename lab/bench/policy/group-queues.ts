/** Lehr's group queues in memory: one for each lane, each in its own fair order. */
import type { LatencyModel } from '../../../apps/worker/src/engine/runtime/simulated.ts';
import type { GroupHead } from '../../../packages/shared/src/queue/index.ts';
import { FairQueue } from './fair-queue.ts';
import { aloneMs, type PolicyJob } from './load.ts';
import { laneOf } from './simulated-engine.ts';

export class GroupQueues {
  readonly #device: LatencyModel;
  readonly #lag: ((costMs: number) => number) | undefined;
  readonly #queues = new Map<string, FairQueue<PolicyJob>>();
  readonly #served = new Map<string, number>();
  #claims = 0;

  constructor(device: LatencyModel, lag?: (costMs: number) => number) {
    this.#device = device;
    this.#lag = lag;
  }

  add(job: PolicyJob): void {
    const lane = laneOf(job);
    const queue = this.#queues.get(lane) ?? new FairQueue<PolicyJob>(this.#lag);
    this.#queues.set(lane, queue);
    queue.add(job, aloneMs(this.#device, job));
  }

  /** Of the queues with waiting jobs, at this time in virtual ms since the first arrival could happen. */
  heads(now: number): GroupHead[] {
    return [...this.#queues].flatMap(([lane, queue]) => {
      const { head, length } = queue;
      if (!head) return [];
      const costMs = aloneMs(this.#device, head);
      return [
        {
          queue: lane,
          waiting: length,
          priority: 'standard',
          waitedMs: now - head.arrivesAt,
          costMs,
        } as const,
      ];
    });
  }

  claim(lane: string, count: number): PolicyJob[] {
    this.#served.set(lane, ++this.#claims);
    return this.#queues.get(lane)?.claim(count) ?? [];
  }

  /** A number that is smaller, the longer ago the lane was claimed for. */
  readonly lastServed = (lane: string): number => this.#served.get(lane) ?? 0;
}
