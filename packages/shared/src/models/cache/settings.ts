/** The variables that say where models are kept and fetched from. */
import { resolve } from 'node:path';
import { modelCacheFolder } from './cache.ts';
import type { RemoteOptions } from './open-remote.ts';

export interface CacheVariables {
  readonly LEHR_HOME: string;
  readonly LEHR_MODEL_CACHE?: string | undefined;
  readonly LEHR_MODEL_CACHE_GB?: number | undefined;
  readonly LEHR_S3_REGION: string;
  readonly LEHR_S3_ENDPOINT?: string | undefined;
  readonly HF_ENDPOINT: string;
  readonly HF_TOKEN?: string | undefined;
}

export interface CacheSettings extends RemoteOptions {
  /** Absolute. */
  readonly cache: string;
  /** Undefined: models are never removed by themselves. */
  readonly maxBytes: number | undefined;
}

const GB = 1e9;

export const cacheSettings = (variables: CacheVariables): CacheSettings => ({
  cache: resolve(variables.LEHR_MODEL_CACHE ?? modelCacheFolder(variables.LEHR_HOME)),
  maxBytes:
    variables.LEHR_MODEL_CACHE_GB === undefined ? undefined : Math.round(variables.LEHR_MODEL_CACHE_GB * GB),
  hub: { endpoint: variables.HF_ENDPOINT, token: variables.HF_TOKEN },
  s3: { region: variables.LEHR_S3_REGION, endpoint: variables.LEHR_S3_ENDPOINT },
});
