/** What the model commands of `lehr` read from the environment, which is that of the server. */
import { existsSync } from 'node:fs';
import { readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { envSchema, homeModelsFile, parseRegistry, type Registry, readConfig } from '@lehr/shared';
import { acquireLock, type CacheSettings, cacheSettings, type ModelPlaces } from '@lehr/shared/model-cache';
import { providersOf } from '../../engine/runtime/provider-library.ts';
import type { Provider } from '../../engine/runtime/runtime.ts';

const ToolEnv = envSchema(
  'LEHR_HOME',
  'LEHR_MODELS',
  'LEHR_MODEL_CACHE',
  'LEHR_MODEL_CACHE_GB',
  'AWS_REGION',
  'AWS_ENDPOINT_URL_S3',
  'HF_ENDPOINT',
  'HF_TOKEN',
  'LEHR_DEVICE',
  'LEHR_THREADS',
);

export interface ToolSettings {
  /** LEHR_HOME. */
  readonly home: string;
  readonly cache: CacheSettings;
  /** The models.yaml that commands change. It may not exist yet. */
  readonly modelsFile: string;
  readonly providers: readonly Provider[];
  readonly threads: number | undefined;
}

/** Throws ConfigError with every fault. */
export function readToolSettings(source: Readonly<Record<string, string | undefined>>): ToolSettings {
  const env = readConfig(ToolEnv, source);
  return {
    home: resolve(env.LEHR_HOME),
    cache: cacheSettings(env),
    modelsFile: resolve(env.LEHR_MODELS ?? homeModelsFile(env.LEHR_HOME)),
    providers: providersOf(env.LEHR_DEVICE),
    threads: env.LEHR_THREADS,
  };
}

export const placesOf = ({ cache, modelsFile }: ToolSettings): ModelPlaces => ({
  models: dirname(modelsFile),
  cache: cache.cache,
});

/** The models of models.yaml; without the file, none. */
export async function readModelsFile({ modelsFile }: ToolSettings): Promise<Registry | undefined> {
  return existsSync(modelsFile) ? parseRegistry(await readFile(modelsFile, 'utf8')) : undefined;
}

/** Two commands that change models.yaml at once would lose the change of one. The file appears whole or not at all. */
export async function changeModelsFile(
  { modelsFile }: ToolSettings,
  change: (text: string) => string,
): Promise<void> {
  const lock = await acquireLock(`${modelsFile}.lock`, AbortSignal.timeout(60_000), () => {});
  try {
    const isThere = existsSync(modelsFile);
    // A link stays a link: it may lead to a file that is kept under version control.
    const file = isThere ? await realpath(modelsFile) : modelsFile;
    const text = change(isThere ? await readFile(file, 'utf8') : '');
    const draft = `${file}.${process.pid}`;
    try {
      await writeFile(draft, text, { flush: true });
      await rename(draft, file);
    } finally {
      await rm(draft, { force: true });
    }
  } finally {
    await lock.release();
  }
}
