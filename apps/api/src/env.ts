import { ConfigError, envSchema } from '@lehr/shared';
import { parseAllowList } from '@lehr/shared/egress';
import type { z } from 'zod';

/** The variables the API reads. */
export const API_ENV = envSchema(
  'LEHR_HOME',
  'LEHR_HOST',
  'LEHR_PORT',
  'LEHR_PUBLIC_URL',
  'LEHR_API_KEY',
  'LEHR_KEY_PEPPER',
  'LEHR_MAX_WAIT_S',
  'LEHR_HOLD_S',
  'LEHR_REDIS_URL',
  'LEHR_NAMESPACE',
  'LEHR_MODELS',
  'LEHR_ROLES',
  'LEHR_SECRET_KEY',
  'LEHR_EGRESS_ALLOW',
  'LEHR_WEBHOOK_ALLOW_PRIVATE',
  'LEHR_MAX_UPLOAD_MB',
  'LEHR_RECORD_TTL_H',
  'LEHR_OUTPUT_TTL_H',
  'LEHR_LINK_TTL_S',
  'LEHR_STORE',
  'LEHR_STORE_SECRET',
  'LEHR_S3_BUCKET',
  'LEHR_S3_REGION',
  'LEHR_S3_ENDPOINT',
  'LEHR_S3_PUBLIC_ENDPOINT',
  'LEHR_LOG_LEVEL',
);
export type ApiConfig = z.output<typeof API_ENV>;

/** Checks variables that depend on each other. Throws ConfigError with every fault. */
export function checkTogether(config: ApiConfig): void {
  const faults: string[] = [];
  if (!isLoopback(config.LEHR_HOST) && config.LEHR_API_KEY === undefined) {
    faults.push(
      `LEHR_HOST is "${config.LEHR_HOST}", which others can reach: set LEHR_API_KEY, or use 127.0.0.1`,
    );
  }
  try {
    parseAllowList(config.LEHR_EGRESS_ALLOW ?? '');
  } catch (error) {
    faults.push(`LEHR_EGRESS_ALLOW: ${(error as Error).message}`);
  }
  if (config.LEHR_STORE === 's3' && config.LEHR_S3_BUCKET === undefined) {
    faults.push('LEHR_S3_BUCKET is missing: LEHR_STORE is "s3"');
  }
  if (faults.length > 0) throw new ConfigError(faults);
}

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
