/**
 * Runs workflows. Every node is its own job in the group queue of its model, so it runs on a worker that serves the
 * model. In BullMQ a workflow is a flow: its job waits for its children, new children are added as they become ready, and
 * a child that fails releases it at once.
 *
 * The records decide, and any process may call `advance` at any time and any number of times: the worker that ended a
 * node, the API that created or cancelled the workflow, the janitor for workflows whose process died. Node jobs get their
 * ids before they start, so starting a node twice makes one job.
 */
import { randomUUID } from 'node:crypto';
import type { JobId, LeaseToken } from '../base/ids.ts';
import type { JobMetrics } from '../contracts/job.ts';
import {
  type Created,
  isTerminal,
  type JobOutline,
  type JobOutput,
  type JobRecord,
  type Move,
  type NewJob,
  type RecordStore,
  waitingSince,
} from '../records/index.ts';
import { type Keys, type Redis, redisNow } from '../redis/index.ts';
import { Admitter } from './admission.ts';
import { Failures } from './failures.ts';
import type { Claim, GroupQueue } from './group-queue.ts';
import type { GroupQueues } from './group-queues.ts';
import { firstScore } from './score.ts';
import { nextMove, type ReadyNode } from './workflow/next.ts';

/** Where the BullMQ jobs of workflows wait for their children. */
export const WORKFLOW_QUEUE = 'workflows';
const SWEPT_AT_ONCE = 64;

export interface WorkflowRunnerOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly records: RecordStore;
  readonly queues: GroupQueues;
}

export class WorkflowRunner {
  readonly #options: WorkflowRunnerOptions;
  readonly #admitter: Admitter;
  /** The lease under which a finished flow is closed. */
  readonly #token = `workflows.${randomUUID()}` as LeaseToken;

  constructor(options: WorkflowRunnerOptions) {
    this.#options = options;
    this.#admitter = new Admitter(options.redis, options.keys);
  }

  /** Stores a workflow and starts its first nodes. */
  async create(job: NewJob): Promise<Created<undefined>> {
    const outcome = await this.#options.records.create(job, () => this.#queue.addParent(job, scoreOf(job)));
    await this.advance(job.id);
    return outcome;
  }

  /** Starts, ends or stops what the states of the nodes require. Safe to repeat and to run concurrently. */
  async advance(id: JobId): Promise<void> {
    const { records } = this.#options;
    const [record] = await records.readMany([id]);
    if (!record?.workflow || record.state === 'scheduled') return;
    const { workflow } = record;
    const { records: nodes, unreadable } = await records.outlines(workflow.nodes.map(({ job }) => job));
    // A process that can read all nodes advances it.
    if (unreadable.length > 0) return;
    if (isTerminal(record.state)) return this.#stopNodes(nodes);
    const next = nextMove(workflow, record.input, nodes);
    switch (next.kind) {
      case 'continue':
        if (next.start.length > 0) {
          const started = await Promise.all(next.start.map((node) => this.#start(record, node)));
          // If the workflow ended meanwhile, the nodes just started must be stopped.
          if (started.includes(true)) return this.advance(id);
        }
        if (nodes.some((node) => node && node.state !== 'queued'))
          await records.apply([{ move: 'begin', id }]);
        return;
      case 'succeed':
        await records.apply([
          { move: 'begin', id },
          { move: 'succeed', id, fields: await this.#result(record, nodes) },
        ]);
        return;
      case 'fail':
        await records.apply([{ move: 'fail', id, fields: { error: next.error } }]);
        return this.#stopNodes(nodes);
      case 'cancel':
        await records.apply([{ move: 'cancel', id }]);
        return this.#stopNodes(nodes);
    }
  }

  /** Marks the workflow as running because one of its nodes has started. */
  async begin(id: JobId): Promise<void> {
    await this.#options.records.apply([{ move: 'begin', id }]);
  }

  /**
   * Advances the workflows that are marked as due (keys.workflows), and closes the BullMQ jobs that their children released.
   * Returns how many workflows it advanced. Ends early when the signal is aborted. A workflow that fails does not keep the others
   * from being advanced; its error is thrown after them.
   */
  async sweep(signal?: AbortSignal): Promise<number> {
    const { redis, keys } = this.#options;
    // No more than were due at the start: advancing a workflow can make it due again.
    const due = await redis.zcard(keys.workflows);
    const failures = new Failures();
    let advanced = 0;
    while (advanced < due && !signal?.aborted) {
      // Unmarked first: a change during `advance` marks the workflow again.
      const popped = await redis.zpopmin(keys.workflows, SWEPT_AT_ONCE);
      const ids = popped.filter((_, i) => i % 2 === 0) as JobId[];
      if (ids.length === 0) break;
      await Promise.all(ids.map((id) => failures.try(() => this.advance(id))));
      advanced += ids.length;
    }
    for (;;) {
      const claim = signal?.aborted ? undefined : await this.#queue.claim(this.#token);
      if (!claim) break;
      await failures.try(() => this.#close(claim));
    }
    failures.throwAny('workflows');
    return advanced;
  }

  async #close(claim: Claim): Promise<void> {
    await this.advance(claim.jobId);
    const record = await this.#options.records.read(claim.jobId);
    if (record?.state === 'succeeded') await this.#queue.complete(claim);
    else await this.#queue.fail(claim, claim.deferredFailure ?? `the job is ${record?.state ?? 'gone'}`);
    if (!record) await this.#queue.remove(claim.jobId);
  }

  get #queue(): GroupQueue {
    return this.#options.queues.of(WORKFLOW_QUEUE);
  }

  /**
   * A node is admitted to the end of its own queue with its tenant's share, as if it were requested alone. Returns false when
   * another process starts it at this moment.
   */
  async #start(parent: JobRecord, node: ReadyNode): Promise<boolean> {
    const { records, queues } = this.#options;
    const admission = await this.#admitter.admit({
      id: node.job,
      tenant: parent.tenant,
      queue: node.queue,
      priority: parent.priority,
      cost: node.cost,
      // All nodes were paid for, and limits applied, when the workflow was admitted.
      payer: parent.payer && { ...parent.payer, budget_ms: null },
    });
    if (admission.code === 'pending' || admission.code === 'replay') return false;
    const admitted = admission.code === 'admitted' ? admission : undefined;
    const job: NewJob = {
      id: node.job,
      tenant: parent.tenant,
      type: node.type,
      model: node.model,
      queue: node.queue,
      priority: parent.priority,
      cost: node.cost,
      payer: parent.payer,
      input: node.input,
      metadata: {},
      deadline_at: parent.deadline_at,
      score: admitted?.score,
      fair_tag: admitted?.startTag,
      admitted_at: admitted?.now,
      parent: parent.id,
      node: node.id,
      rollout: node.rollout,
      concurrency: parent.workflow?.concurrency,
      trace: parent.trace,
    };
    const link = { id: parent.id, queue: this.#queue };
    await records.create(job, () => queues.of(job.queue).add(job, scoreOf(job), link));
    return true;
  }

  /** The images of all nodes, in order, and the last transcript. */
  async #result(parent: JobRecord, nodes: readonly (JobOutline | undefined)[]): Promise<Move['fields']> {
    const outputs = nodes.flatMap((node) => (node?.state === 'succeeded' ? [node.output] : []));
    const starts = nodes.flatMap((node) =>
      node && 'started_at' in node && node.started_at ? [node.started_at] : [],
    );
    const since = waitingSince(parent);
    const totalMs = Math.max(0, (await redisNow(this.#options.redis)) - since);
    const queueMs = Math.min(totalMs, Math.max(0, Math.min(...starts) - since));
    const output: JobOutput = {
      images: outputs.flatMap(({ images }) => images),
      transcript: outputs.findLast(({ transcript }) => transcript)?.transcript,
    };
    const metrics: JobMetrics = {
      queue_ms: queueMs,
      run_ms: totalMs - queueMs,
      total_ms: totalMs,
      batch_size: null,
      worker: null,
      timings: { queued: queueMs, nodes: totalMs - queueMs },
    };
    return { output, metrics };
  }

  /** Cancels the unfinished nodes: waiting ones at once, running ones through their workers. */
  async #stopNodes(nodes: readonly (JobOutline | undefined)[]): Promise<void> {
    const { records, queues } = this.#options;
    const live = nodes.filter((node) => node !== undefined && !isTerminal(node.state)) as JobOutline[];
    const outcomes = await records.apply(live.map(({ id }) => ({ move: 'cancel', id })));
    for (const [i, { code }] of outcomes.entries()) {
      if (code === 'ok') await queues.of(live[i].queue).remove(live[i].id);
    }
  }
}

const scoreOf = (job: Pick<NewJob, 'score' | 'priority'>): number => job.score ?? firstScore(job.priority);
