/**
 * Whether the object store of this process is the one of its installation. Otherwise two machines with a folder each would both
 * work, and what a worker of one stores would be missing on the other.
 *
 * A store has a random id, the object `lehr-store/<id>`, and Redis has the id of the store that all processes use and where it was
 * first. The first process writes both, the object before the key: whoever finds the key, finds the object. When several processes
 * are first, SET NX decides; the ids of the others stay in their stores, which may have any number of them.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError, LehrError } from '../base/errors.ts';
import { toObjectKey } from '../base/ids.ts';
import type { ObjectStore } from '../objects/store.ts';
import type { Keys, Redis } from '../redis/index.ts';

export interface UsedStore {
  readonly redis: Redis;
  readonly keys: Pick<Keys, 'storeId'>;
  readonly store: Pick<ObjectStore, 'check' | 'get' | 'put' | 'list'>;
  /** For people: where the store is. */
  readonly place: string;
}

const PREFIX = 'lehr-store/';
/** S3 tries again for minutes; a start does not wait as long. */
const TIMEOUT_MS = 10_000;

/**
 * Throws ConfigError when the installation uses another store, and `storage-failed` when this one cannot be read. The first
 * store of an installation becomes its store.
 */
export async function claimStore(used: UsedStore): Promise<void> {
  const { redis, keys, store, place } = used;
  await inTime(async () => {
    if ((await redis.get(keys.storeId)) === null) {
      // It writes: some servers make a bucket at the first write, and cannot list it before.
      await store.check();
      await redis.set(keys.storeId, `${await idOf(used)} ${place}`, 'NX');
    }
    const other = await otherStore(used);
    if (other) throw new ConfigError([`${other.problem}: ${other.advice}`]);
  });
}

/** Undefined when the store is the one of the installation, or when that has none yet. */
export async function otherStore({
  redis,
  keys,
  store,
  place,
}: UsedStore): Promise<{ readonly problem: string; readonly advice: string } | undefined> {
  const [, id, first] = /^(\S+) (.*)$/s.exec((await redis.get(keys.storeId)) ?? '') ?? [];
  if (id === undefined) return undefined;
  const found = await store.get(toObjectKey(PREFIX + id));
  await found?.body.cancel();
  if (found) return undefined;
  const what =
    first === place ? 'was emptied or is not mounted' : `is not the one of this installation, ${first}`;
  return {
    problem: `The store of this process, ${place}, ${what}`,
    advice:
      'give all processes one store, a shared folder as LEHR_HOME or one bucket as LEHR_S3_BUCKET (docs/two-machines.md); ' +
      'if it was moved or emptied on purpose, see docs/operating.md, Another store',
  };
}

/** An id that the store has, or a new one. */
async function idOf({ store }: UsedStore): Promise<string> {
  for await (const key of store.list(PREFIX)) return key.slice(PREFIX.length);
  const id = randomUUID();
  await store.put(toObjectKey(PREFIX + id), Buffer.from(''), { contentType: 'text/plain' });
  return id;
}

async function inTime<T>(work: () => Promise<T>): Promise<T> {
  const over = new AbortController();
  const late = delay(TIMEOUT_MS, undefined, { signal: over.signal, ref: false }).then(() => {
    throw new LehrError('storage-failed', `The store did not answer within ${TIMEOUT_MS / 1000} s.`);
  });
  late.catch(() => {});
  try {
    return await Promise.race([work(), late]);
  } finally {
    over.abort();
  }
}
