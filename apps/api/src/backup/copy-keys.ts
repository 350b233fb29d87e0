/** Copies keys from one Redis to another with DUMP and RESTORE, which every Redis has, also a managed one. */
import { LehrError } from '@lehr/shared';
import type { Redis } from '@lehr/shared/redis';

/** Keys of one round trip. A checkpoint of a picture has up to some hundred kB. */
const BATCH = 100;

export interface Copied {
  readonly restored: number;
  /** Keys whose life ended before they were copied. */
  readonly expired: number;
}

interface Entry {
  readonly key: Buffer;
  readonly value: Buffer;
  /** 0: it lives for ever. */
  readonly ttlMs: number;
}

/** Throws `conflict` when the target has another value under one of the keys: another program writes there. */
export async function copyKeys(
  source: Redis,
  target: Redis,
  prefix: string,
  signal: AbortSignal,
  onCopied: (keys: number) => void,
): Promise<Copied> {
  let [restored, expired] = [0, 0];
  let cursor = '0';
  do {
    signal.throwIfAborted();
    const [next, keys] = await source.scanBuffer(cursor, 'MATCH', `${prefix}:*`, 'COUNT', BATCH);
    cursor = next.toString();
    const entries = await read(source, keys);
    expired += keys.length - entries.length;
    restored += await write(target, entries);
    onCopied(restored);
  } while (cursor !== '0');
  return { restored, expired };
}

async function read(source: Redis, keys: readonly Buffer[]): Promise<Entry[]> {
  const pipeline = source.pipeline();
  for (const key of keys) pipeline.dumpBuffer(key).pttl(key);
  const replies = await answersOf(pipeline.exec());
  return keys.flatMap((key, i) => {
    const [value, ttl] = [replies[2 * i] as Buffer | null, replies[2 * i + 1] as number];
    // -2: gone. -1: no end.
    return value === null || ttl === -2 || ttl === 0 ? [] : [{ key, value, ttlMs: Math.max(0, ttl) }];
  });
}

/** Returns how many were written: SCAN may name a key twice. */
async function write(target: Redis, entries: readonly Entry[]): Promise<number> {
  const pipeline = target.pipeline();
  for (const { key, value, ttlMs } of entries) pipeline.restore(key, ttlMs, value);
  const replies = (await pipeline.exec()) ?? [];
  let written = 0;
  for (const [i, [error]] of replies.entries()) {
    if (error === null) written += 1;
    else await expectSame(target, entries[i], error);
  }
  return written;
}

async function expectSame(target: Redis, { key, value }: Entry, error: Error): Promise<void> {
  if (!error.message.startsWith('BUSYKEY')) {
    const hint = error.message.includes('Bad data format')
      ? ' The target is an older Redis than redis-server here.'
      : '';
    throw new LehrError('unavailable', `Redis does not take ${key}: ${error.message}.${hint}`, {
      cause: error,
    });
  }
  const there = await target.dumpBuffer(key);
  if (there?.equals(value)) return;
  throw new LehrError(
    'conflict',
    `another program wrote ${key} during the restore. Stop every API and worker, empty Redis and restore again.`,
  );
}

async function answersOf(replies: Promise<[Error | null, unknown][] | null>): Promise<unknown[]> {
  return ((await replies) ?? []).map(([error, value]) => {
    if (error) throw error;
    return value;
  });
}
