/**
 * Stores the checkpoints of running jobs: in Redis, or in the object store above a size and while Redis is nearly full. They are
 * bytes here; the engines of workers know their format. transition.lua deletes those in Redis when the job ends.
 */
import { readFileSync } from 'node:fs';
import type { JobId, LeaseToken, TenantId } from '../base/ids.ts';
import { type ObjectKey, outputFolder, toObjectKey } from '../base/ids.ts';
import type { ObjectStore } from '../objects/index.ts';
import { defineScript, FULL_SHARE, type Keys, memoryShare, type Redis, type Script } from '../redis/index.ts';

const CHECKPOINT_LUA = readFileSync(new URL('./checkpoint.lua', import.meta.url), 'utf8');
/** Of a job that waits in its queue again; after it, the job starts at its beginning. */
const KEPT_MS = 6 * 3_600_000;
const MEMORY_CHECK_MS = 5_000;
const CONTENT_TYPE = 'application/octet-stream';

export interface JobOfCheckpoint {
  readonly id: JobId;
  readonly tenant: TenantId;
}

export interface Checkpoint {
  readonly job: JobOfCheckpoint;
  /** The attempt that made it. */
  readonly lease: LeaseToken;
  /** Which picture of the job. */
  readonly index: number;
  readonly bytes: Uint8Array;
}

export interface CheckpointStoreOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly objects: ObjectStore;
  /** Checkpoints of more bytes go to the object store. */
  readonly maxRedisBytes: number;
}

export class CheckpointStore {
  readonly #options: CheckpointStoreOptions;
  readonly #script: Script;
  #memory = { isFull: false, checkedAt: Number.NEGATIVE_INFINITY };

  constructor(options: CheckpointStoreOptions) {
    this.#options = options;
    this.#script = defineScript(options.redis, 'lehrCheckpoint', CHECKPOINT_LUA);
  }

  /** Returns per checkpoint whether it was stored; it is not when its attempt has lost the job. One round trip to Redis. */
  async write(checkpoints: readonly Checkpoint[], signal: AbortSignal): Promise<boolean[]> {
    const { keys, objects, maxRedisBytes } = this.#options;
    const limit = (await this.#isRedisFull()) ? 0 : maxRedisBytes;
    const values = await Promise.all(
      checkpoints.map(async (checkpoint): Promise<(string | Buffer)[]> => {
        const { lease, index, bytes } = checkpoint;
        if (bytes.byteLength <= limit) return [lease, `${index}`, 'bytes', Buffer.from(bytes)];
        const key = objectKey(checkpoint);
        await objects.put(key, bytes, { contentType: CONTENT_TYPE, signal });
        return [lease, `${index}`, 'object', key];
      }),
    );
    const outcomes = (await this.#script.run(
      checkpoints.flatMap(({ job }) => [keys.record(job.id), keys.checkpoints(job.id)]),
      [KEPT_MS, ...values.flat()],
    )) as (number | string)[];
    for (const [i, outcome] of outcomes.entries()) {
      const [, , kind, key] = values[i];
      const unused = outcome === 0 && kind === 'object' ? key : outcome;
      if (typeof unused === 'string') await objects.delete(toObjectKey(unused));
    }
    return outcomes.map((outcome) => outcome !== 0);
  }

  /** The checkpoints of a job, by the index of the picture. */
  async read({ id }: JobOfCheckpoint): Promise<Map<number, Uint8Array>> {
    const { redis, keys } = this.#options;
    const found = new Map<number, Uint8Array>();
    for (const [field, value] of Object.entries(await redis.hgetallBuffer(keys.checkpoints(id)))) {
      const [kind, index] = field.split(':');
      const bytes = kind === 'object' ? await this.#readObject(toObjectKey(value.toString())) : value;
      if (bytes) found.set(Number(index), bytes);
    }
    return found;
  }

  /**
   * Deletes the objects of a job's checkpoints when the attempt with this lease ends it; not those of a job that another attempt
   * runs or will run. Those of a job that ended in its queue go with its record or expire as its outputs do.
   */
  async removeObjects(job: JobOfCheckpoint, lease: LeaseToken): Promise<void> {
    const { redis, keys, objects } = this.#options;
    const [state, owner] = await redis.hmget(keys.record(job.id), 'state', 'lease');
    if (state === 'queued' || (owner !== null && owner !== lease)) return;
    const unused: ObjectKey[] = [];
    for await (const key of objects.list(folderOf(job))) unused.push(key);
    if (unused.length > 0) await objects.deleteMany(unused);
  }

  async #readObject(key: ObjectKey): Promise<Uint8Array | undefined> {
    const object = await this.#options.objects.get(key);
    return object && new Uint8Array(await new Response(object.body).arrayBuffer());
  }

  /** The memory above the limit of admission is kept for what jobs need to end. */
  async #isRedisFull(): Promise<boolean> {
    const now = performance.now();
    if (now - this.#memory.checkedAt > MEMORY_CHECK_MS) {
      const share = await memoryShare(this.#options.redis);
      this.#memory = { isFull: share !== undefined && share >= FULL_SHARE, checkedAt: now };
    }
    return this.#memory.isFull;
  }
}

const folderOf = ({ tenant, id }: JobOfCheckpoint): string => `${outputFolder(tenant, id)}checkpoints/`;

/** The lease is a part of the name, and not a folder: with the outputs of an attempt that is handed back, its folder is deleted. */
const objectKey = ({ job, lease, index }: Checkpoint): ObjectKey =>
  toObjectKey(`${folderOf(job)}${lease}.${index}`);
