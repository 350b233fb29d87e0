/** `lehr restore`: brings a backup into an empty Redis. Every refusal comes before the first write. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LehrError, OWN_VERSION } from '@lehr/shared';
import { SCHEMA_VERSION } from '@lehr/shared/records';
import {
  assertNoEviction,
  describeAddress,
  keysOf,
  openRedis,
  type Redis,
  redisReady,
} from '@lehr/shared/redis';
import { copyKeys } from './copy-keys.ts';
import type { Report } from './event.ts';
import { backupIds, listed, type Manifest, readManifest } from './manifest.ts';
import { fetchParts } from './parts.ts';
import { type BackupPlace, openPlace } from './place.ts';
import { openScratch } from './scratch-server.ts';
import type { BackupSettings } from './settings.ts';

export interface RestoreRequest {
  /** `s3://bucket/prefix`, or a folder. */
  readonly where: string;
  /** The newest one without it. */
  readonly backup?: string;
}

export async function restore(
  { where, backup }: RestoreRequest,
  settings: BackupSettings,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const place = await openPlace(where, settings);
  const manifest = await readManifest(place, backup ?? (await newest(place)));
  expectSameSchema(manifest);
  const target = openRedis(settings.address, 'worker', 'restore');
  try {
    await redisReady(target);
    await assertNoEviction(target);
    await expectEmpty(target, describeAddress(settings.address));
    const folder = await mkdtemp(join(tmpdir(), 'lehr-restore-'));
    try {
      const file = join(folder, 'dump.rdb');
      await fetchParts(place, manifest, file, signal, (done, total) =>
        report({ type: 'progress', stage: 'download', done, total }),
      );
      const scratch = await openScratch(file, databaseOf(settings), { env: settings.env, signal });
      try {
        // Processes may have come back during the download.
        await expectEmpty(target, describeAddress(settings.address));
        const { prefix } = keysOf(settings.namespace);
        const copied = await copyKeys(scratch.redis, target, prefix, signal, (done) =>
          report({ type: 'progress', stage: 'copy', done, total: manifest.keys }),
        );
        report({ type: 'restored', ...copied, ...listed(manifest) });
      } finally {
        await scratch.stop();
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  } finally {
    target.disconnect();
  }
}

async function newest(place: BackupPlace): Promise<string> {
  const id = (await backupIds(place)).at(-1);
  if (id !== undefined) return id;
  throw new LehrError('not-found', `there is no complete backup of this namespace in ${place.name}`);
}

function expectSameSchema({ id, lehr, schema }: Manifest): void {
  if (schema === SCHEMA_VERSION) return;
  throw new LehrError(
    'conflict',
    `backup ${id} has schema ${schema} and was made by Lehr ${lehr}; this is Lehr ${OWN_VERSION} with schema ${SCHEMA_VERSION}. ` +
      'Restore it with a version of that schema, then upgrade.',
  );
}

async function expectEmpty(target: Redis, where: string): Promise<void> {
  const keys = await target.dbsize();
  if (keys === 0) return;
  throw new LehrError(
    'conflict',
    `Redis at ${where} is not empty: it has ${keys} keys. Stop every API and worker, and restore into an empty one.`,
  );
}

/** The dump has the keys of every database; Lehr uses the one in the URL. */
const databaseOf = ({ address }: BackupSettings): number =>
  Number(new URL(address.url).pathname.slice(1) || 0);
