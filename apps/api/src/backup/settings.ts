/** What `lehr backup` and `lehr restore` read from the environment, which is that of the server. */
import { envSchema, readConfig } from '@lehr/shared';
import { type RedisAddress, redisAddress, withLocalRedis } from '@lehr/shared/redis';
import type { PlaceSettings } from './place.ts';

const BackupEnv = envSchema(
  'LEHR_HOME',
  'LEHR_REDIS_URL',
  'LEHR_REDIS_SENTINELS',
  'LEHR_REDIS_SENTINEL_PASSWORD',
  'LEHR_NAMESPACE',
  'LEHR_S3_REGION',
  'LEHR_S3_ENDPOINT',
);

export interface BackupSettings extends PlaceSettings {
  readonly address: RedisAddress;
  /** The environment of the programs of Redis: without the secrets of Lehr. */
  readonly env: NodeJS.ProcessEnv;
}

const PASSED_ON = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'NODE_EXTRA_CA_CERTS'];

/** Throws ConfigError with every fault. */
export async function readBackupSettings(
  source: Readonly<Record<string, string | undefined>>,
): Promise<BackupSettings> {
  const config = readConfig(BackupEnv, await withLocalRedis(source));
  return {
    address: redisAddress(config),
    namespace: config.LEHR_NAMESPACE,
    region: config.LEHR_S3_REGION,
    endpoint: config.LEHR_S3_ENDPOINT,
    env: Object.fromEntries(PASSED_ON.map((name) => [name, source[name]])),
  };
}
