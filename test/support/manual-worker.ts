/** A worker without an engine, for tests: it claims jobs and applies moves through the shared queue layer when the test says so. */
import type { ApiParts } from '../../apps/api/src/parts.ts';
import {
  newWorkerId,
  reportWorker,
  type StoredTextOutput,
  toObjectKey,
  type WorkerId,
  type WorkerStatus,
} from '../../packages/shared/src/index.ts';
import { AttemptStore, type Claim, Claimer, GroupQueues } from '../../packages/shared/src/queue/index.ts';
import { RecordStore, type StoredError } from '../../packages/shared/src/records/index.ts';
import type { Redis } from '../../packages/shared/src/redis/index.ts';
import { testRedis } from './redis.ts';

const BAD_NUMBERS: StoredError = {
  code: 'numeric-error',
  title: 'Bad numbers',
  detail: 'NaN at step 3',
  retryable: false,
};

type Lane = WorkerStatus['lanes'][number];
type Report = Partial<Omit<WorkerStatus, 'lanes'>> & {
  readonly lanes?: readonly (Omit<Lane, 'paused' | 'left_ms'> & Partial<Lane>)[];
};

export class ManualWorker {
  readonly id: WorkerId;
  readonly #claimer: Claimer;
  readonly #attempts: AttemptStore;
  readonly #redis: Redis;
  readonly #parts: ApiParts;
  readonly #queues: GroupQueues;
  /** On the worker's own connection. */
  readonly records: RecordStore;

  private constructor(id: WorkerId, claimer: Claimer, redis: Redis, queues: GroupQueues, parts: ApiParts) {
    this.id = id;
    this.#claimer = claimer;
    this.#redis = redis;
    this.#queues = queues;
    this.#parts = parts;
    this.records = new RecordStore(redis, parts.keys, { retentionMs: 3_600_000 });
    this.#attempts = new AttemptStore({
      redis,
      keys: parts.keys,
      records: this.records,
      worker: id,
      leaseMs: queues.leaseMs,
    });
  }

  static async start(url: string, parts: ApiParts): Promise<ManualWorker> {
    const redis = testRedis(url);
    const queues = await GroupQueues.open(redis, parts.keys);
    const blocking = testRedis(url, 'blocking');
    const id = newWorkerId('manual');
    const claimer = new Claimer({ commands: redis, blocking, keys: parts.keys, queues, worker: id });
    return new ManualWorker(id, claimer, redis, queues, parts);
  }

  async report({ lanes = [], ...status }: Report = {}): Promise<void> {
    const left_ms = { interactive: 0, standard: 0, bulk: 0 };
    await reportWorker(this.#redis, this.#parts.keys, {
      id: this.id,
      started_at: Date.now(),
      tasks: ['diffusion'],
      draining: false,
      models: [{ ref: 'tiny@1', batching: 'step', providers: { unet: 'cpu' } }],
      unavailable: [],
      jobs: 0,
      lanes: lanes.map((lane) => ({ paused: 0, left_ms, ...lane })),
      ...status,
    });
  }

  /** Claims the next job of a group and opens an attempt on it. */
  async take(queue = 'diffusion.tiny@1.64x64'): Promise<Claim> {
    const [started] = await this.#attempts.start(queue, 1);
    if (!started) throw new Error(`nothing waits in ${queue}`);
    return started.claim;
  }

  /** Waits for a job of the groups, and takes it. One call at a time: it blocks the worker's connection. */
  async next(...queues: readonly string[]): Promise<Claim> {
    for (;;) {
      const claim = await this.#first(queues);
      if (claim) return claim;
      await this.#claimer.wait(queues);
    }
  }

  async #first(queues: readonly string[]): Promise<Claim | undefined> {
    for (const queue of queues) {
      const [started] = await this.#attempts.start(queue, 1);
      if (started) return started.claim;
    }
    return undefined;
  }

  async progress(claim: Claim, step: number, steps = 8): Promise<void> {
    const progress = { fraction: step / steps, stage: 'denoise', step, steps };
    await this.records.apply([
      { move: 'progress', id: claim.jobId, lease: claim.token, fields: { progress } },
    ]);
  }

  /** Stores one picture and ends the job with it. */
  async succeed(claim: Claim, bytes: Uint8Array = Buffer.from('not really a png')): Promise<void> {
    const key = toObjectKey(`out/default/${claim.jobId}/${claim.token}/0.png`);
    const { sha256 } = await this.#parts.store.put(key, bytes, { contentType: 'image/png' });
    const image = {
      key,
      content_type: 'image/png',
      width: 64,
      height: 64,
      bytes: bytes.length,
      sha256,
      seed: 7,
    };
    const timings = { queued: 1, admitted: 1, text: 1, denoise: 1, decode: 1, encode: 1, upload: 1 };
    const metrics = { queue_ms: 1, run_ms: 6, total_ms: 7, batch_size: 1, worker: this.id, timings };
    await this.records.apply([
      {
        move: 'succeed',
        id: claim.jobId,
        lease: claim.token,
        fields: { output: { images: [image] }, metrics },
      },
    ]);
    await this.#queues.of(claim.queue).complete(claim);
  }

  /** Ends a text job with its result. */
  succeedWith(claim: Claim, text: StoredTextOutput): Promise<void> {
    return this.end(claim, { text });
  }

  /** Ends a job with this output. */
  async end(claim: Claim, output: object): Promise<void> {
    const timings = { queued: 1, tokenize: 1, wait: 1, run: 1, store: 0 };
    const metrics = { queue_ms: 1, run_ms: 3, total_ms: 4, batch_size: 1, worker: this.id, timings };
    await this.endWith(claim, { output, metrics });
  }

  /** Ends a job with these fields in its record. */
  async endWith(claim: Claim, fields: { readonly output: object; readonly metrics: object }): Promise<void> {
    await this.records.apply([{ move: 'succeed', id: claim.jobId, lease: claim.token, fields }]);
    await this.#queues.of(claim.queue).complete(claim);
  }

  async fail(claim: Claim, error: StoredError = BAD_NUMBERS): Promise<void> {
    await this.records.apply([{ move: 'fail', id: claim.jobId, lease: claim.token, fields: { error } }]);
    await this.#queues.of(claim.queue).fail(claim, 'NaN');
  }

  /** Ends a job whose cancel was requested. */
  async obeyCancel(claim: Claim): Promise<void> {
    await this.records.apply([{ move: 'cancel', id: claim.jobId, lease: claim.token }]);
    await this.#queues.of(claim.queue).fail(claim, 'canceled');
  }
}
