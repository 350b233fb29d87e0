/** `lehr backup`: stores all keys of Redis at one moment, with checksums and a manifest. */
import { randomBytes } from 'node:crypto';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { highestSchema, LehrError, OWN_VERSION } from '@lehr/shared';
import { SCHEMA_VERSION } from '@lehr/shared/records';
import { assertNothingDropped, keysOf, openRedis, redisNow, redisReady } from '@lehr/shared/redis';
import { countKeys, dumpRdb } from './dump.ts';
import type { Report } from './event.ts';
import {
  backupIds,
  type ListedBackup,
  listed,
  MANIFEST_FORMAT,
  type Manifest,
  readManifest,
  storeManifest,
} from './manifest.ts';
import { storeParts } from './parts.ts';
import { openPlace } from './place.ts';
import type { BackupSettings } from './settings.ts';

export interface BackupRequest {
  /** `s3://bucket/prefix`, or a folder. */
  readonly where: string;
  /** A dump that another program made, such as a snapshot of a managed Redis. */
  readonly rdb?: string;
}

export async function backup(
  { where, rdb }: BackupRequest,
  settings: BackupSettings,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const place = await openPlace(where, settings);
  const folder = await mkdtemp(join(tmpdir(), 'lehr-backup-'));
  try {
    const file = join(folder, 'dump.rdb');
    report({ type: 'progress', stage: 'dump', done: 0, total: null });
    const facts = rdb === undefined ? await dump(file, settings, signal) : await foreign(rdb, file);
    report({ type: 'progress', stage: 'check', done: 0, total: null });
    const keys = await countKeys(file, { env: settings.env, signal });
    const id = `${facts.taken_at.replace(/[:.]/g, '-')}-${randomBytes(2).toString('hex')}`;
    const stored = await storeParts(place, id, file, signal, (done, total) =>
      report({ type: 'progress', stage: 'upload', done, total }),
    );
    const manifest: Manifest = {
      format: MANIFEST_FORMAT,
      id,
      lehr: OWN_VERSION,
      namespace: settings.namespace,
      keys,
      ...facts,
      ...stored,
    };
    // With its manifest it would be a complete backup.
    signal.throwIfAborted();
    await storeManifest(place, manifest);
    report({ type: 'stored', ...listed(manifest) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Facts = Pick<Manifest, 'schema' | 'redis_version' | 'taken_at' | 'unfinished_jobs'>;

async function dump(file: string, settings: BackupSettings, signal: AbortSignal): Promise<Facts> {
  const redis = openRedis(settings.address, 'worker', 'backup');
  try {
    await redisReady(redis);
    await assertNothingDropped(redis);
    const info = await redis.info('server');
    const keys = keysOf(settings.namespace);
    const facts = {
      schema: await highestSchema(redis, keys),
      redis_version: /^redis_version:(\S+)/m.exec(info)?.[1] ?? 'unknown',
      taken_at: new Date(await redisNow(redis)).toISOString(),
      unfinished_jobs: await redis.zcard(keys.live),
    };
    await dumpRdb(settings.address, redis, file, { env: settings.env, signal });
    return facts;
  } finally {
    redis.disconnect();
  }
}

/** Copied first: what is counted and hashed must be what is stored, also when the file changes meanwhile. */
async function foreign(rdb: string, file: string): Promise<Facts> {
  try {
    await copyFile(rdb, file);
  } catch (error) {
    throw new LehrError('invalid-request', `--rdb ${rdb} cannot be read: ${(error as Error).message}`);
  }
  return {
    schema: SCHEMA_VERSION,
    redis_version: 'unknown',
    taken_at: new Date().toISOString(),
    unfinished_jobs: null,
  };
}

/** `lehr backup list`: the complete backups of this namespace, oldest first. One that cannot be read does not hide the others. */
export async function list(
  { where }: Pick<BackupRequest, 'where'>,
  settings: BackupSettings,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const place = await openPlace(where, settings);
  const backups: ListedBackup[] = [];
  const unreadable: string[] = [];
  for (const id of await backupIds(place)) {
    signal.throwIfAborted();
    try {
      backups.push(listed(await readManifest(place, id)));
    } catch (error) {
      if (!(error instanceof LehrError && error.code === 'conflict')) throw error;
      unreadable.push(id);
    }
  }
  report({ type: 'list', backups, unreadable });
}
