/** Starts and ends attempts: each in one round trip for the record and its BullMQ job together (start.lua, end.lua). */
import { readFileSync } from 'node:fs';
import { type JobId, type LeaseToken, newLeaseToken, type WorkerId } from '../base/ids.ts';
import {
  APPLY_LUA,
  encodeMove,
  type JobRecord,
  type Move,
  type Outcome,
  type RecordStore,
} from '../records/index.ts';
import { defineScript, type Keys, type Redis, type Script } from '../redis/index.ts';
import { BULL_FINISH_LUA, BULL_TAKE_LUA, KEPT_LUA } from './bull-scripts.ts';
import type { Claim, Lease } from './group-queue.ts';
import { chargeOf, REPRICE_LUA } from './reprice.ts';

const START_LUA = [
  APPLY_LUA,
  BULL_TAKE_LUA,
  readFileSync(new URL('./start.lua', import.meta.url), 'utf8'),
].join('\n');
const END_LUA = [
  APPLY_LUA,
  REPRICE_LUA,
  KEPT_LUA,
  BULL_FINISH_LUA,
  readFileSync(new URL('./end.lua', import.meta.url), 'utf8'),
].join('\n');

/** A claimed job. `outcome` is that of its start; undefined for a job with a `deferredFailure`, which was not started. */
export interface Started {
  readonly claim: Claim;
  readonly outcome: Outcome | undefined;
}

export interface EndOptions {
  /** The BullMQ job is failed, for the admin page. */
  readonly reason?: string | undefined;
  /** What the job really cost, estimated engine ms. */
  readonly charge?: { readonly job: JobRecord; readonly costMs: number } | undefined;
  /** The BullMQ job of a node of a workflow stays: the caller adds the next nodes, and then ends it. */
  readonly isNode?: boolean;
}

export interface AttemptStoreOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly records: RecordStore;
  readonly worker: WorkerId;
  readonly leaseMs: number;
}

export class AttemptStore {
  readonly #options: AttemptStoreOptions;
  readonly #start: Script;
  readonly #end: Script;

  constructor(options: AttemptStoreOptions) {
    this.#options = options;
    this.#start = defineScript(options.redis, 'lehrStart', START_LUA);
    this.#end = defineScript(options.redis, 'lehrEnd', END_LUA);
  }

  /**
   * Claims up to `count` jobs (at least one) of one class of a group queue, each with its own lease, and starts them; `outOfTurn` first, if
   * it still waits. When the reply is lost and the connection sends the command again, it gives the same jobs. One call at a time.
   */
  async start(queue: string, count: number, outOfTurn?: JobId): Promise<Started[]> {
    const { records, worker, leaseMs } = this.#options;
    const leases = Array.from({ length: count }, () => newLeaseToken(worker));
    const asked = { queue, worker, lease_ms: leaseMs, leases, first: outOfTurn };
    const replies = (await this.#run(this.#start, asked)) as [JobId, LeaseToken, string, unknown][];
    return replies.map(([jobId, token, givenUp, reply]) => {
      const deferredFailure = givenUp === '' ? undefined : givenUp;
      const outcome = deferredFailure === undefined ? records.outcomeOf(reply, jobId) : undefined;
      return { claim: { jobId, queue, token, deferredFailure }, outcome };
    });
  }

  /**
   * Ends a claimed job by a move under its lease. May be repeated when the reply was lost. The outcome is `stale` when the lease was lost:
   * then the job may belong to another worker, and nothing was changed.
   */
  async end(
    { queue, token }: Lease,
    move: Move,
    { reason, charge, isNode }: EndOptions = {},
  ): Promise<Outcome> {
    const asked = {
      queue,
      move: encodeMove(move),
      charge: charge && chargeOf(this.#options.keys, charge.job, token, charge.costMs, true),
      is_node: isNode,
    };
    const reply = await this.#run(this.#end, asked, reason);
    return this.#options.records.outcomeOf(reply, move.id);
  }

  #run(script: Script, asked: object, reason?: string): Promise<unknown> {
    const { keys, records } = this.#options;
    const own = reason === undefined ? [] : [reason];
    return script.run([keys.live], [keys.prefix, JSON.stringify(asked), records.kept, ...own]);
  }
}
