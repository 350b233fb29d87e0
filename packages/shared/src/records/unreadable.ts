/**
 * Records and worker reports that this process cannot read: another version of Lehr wrote them, or they are damaged. They are
 * listed in Redis with the reason, and otherwise left alone for a process that can read them.
 */
import { z } from 'zod';
import { parsedStored } from '../base/other-versions.ts';
import type { Keys, Redis } from '../redis/index.ts';
// Not through the index, which opens connections: engines and tools read reports without ioredis.
import { defineScript, type Script } from '../redis/script.ts';

/** Rises when processes of an older version cannot read new records or reports. */
export const SCHEMA_VERSION = 1;

/** Schemas rise from this one. */
const FIRST_SCHEMA = 1;
/** They rise by one, and rarely: a number beyond this was never written by any version. */
const MAX_SCHEMA = 1000;

/** False for what is damaged, and no schema of any version. */
const isSchema = (v: unknown): v is number =>
  Number.isInteger(v) && (v as number) >= FIRST_SCHEMA && (v as number) <= MAX_SCHEMA;

export interface Unreadable {
  /** Of the job or the worker. */
  readonly id: string;
  /** Undefined when it names none. */
  readonly version: number | undefined;
  readonly reason: string;
}

/** The list is for operators and is not needed to find anything, so it may end here. */
const MAX_LISTED = 1000;
const MAX_REASON_LENGTH = 200;
const EntrySchema = z.object({ at: z.string(), reason: z.string(), version: z.unknown().optional() });
/** KEYS[1] the list, a hash; ARGV id, JSON, id, JSON ... */
const LIST_LUA = `
for i = 1, #ARGV, 2 do
  if redis.call('HLEN', KEYS[1]) >= ${MAX_LISTED} then return end
  if redis.call('HEXISTS', KEYS[1], ARGV[i]) == 0 then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end`;

export class UnreadableList {
  readonly #redis: Redis;
  readonly #key: string;
  readonly #add: Script;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#key = keys.unreadable;
    this.#add = defineScript(redis, 'lehrListUnreadable', LIST_LUA);
  }

  /** In the background: what is missing here after an error is listed when it is read the next time. */
  add(found: readonly Unreadable[]): void {
    if (found.length === 0) return;
    const at = new Date().toISOString();
    const entries = found.flatMap(({ id, ...facts }) => [id, JSON.stringify({ at, ...facts })]);
    this.#add.run([this.#key], entries).catch(() => {});
  }

  /** Ids of jobs and workers. */
  ids(): Promise<string[]> {
    return this.#redis.hkeys(this.#key);
  }

  /** In no order, without damaged entries. */
  async list(max: number): Promise<{ id: string; at: string; reason: string }[]> {
    const all = Object.entries(await this.#redis.hgetall(this.#key)).slice(0, max);
    return all.flatMap(([id, text]) => {
      const entry = parsedStored(EntrySchema, text);
      return entry ? [{ id, at: entry.at, reason: entry.reason }] : [];
    });
  }

  count(): Promise<number> {
    return this.#redis.hlen(this.#key);
  }

  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#redis.hdel(this.#key, ...ids);
  }
}

/** Whether a process of a newer version may be able to read it. */
export const isNewer = ({ version }: Unreadable): boolean => isSchema(version) && version > SCHEMA_VERSION;

/** Names fields and never values. */
export const reasonOf = ({ issues }: z.ZodError): string =>
  issues
    .map(({ path, code }) => `${path.join('.') || 'all of it'}: ${code}`)
    .join('; ')
    .slice(0, MAX_REASON_LENGTH);
