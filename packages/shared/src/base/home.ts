/**
 * The files of an installation under LEHR_HOME. A secret that is not configured is generated once, by the process that
 * starts first, as a file that only its owner can read; the other processes read that file.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { chmod, link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from './errors.ts';

/** Secrets, uploads and outputs: what a process creates can be read by its own user only. */
export const PRIVATE_UMASK = 0o077;

/** By file name: how to generate the secret, and the shortest one that is accepted. */
const SECRETS = {
  /** `lehr_<env>_<id>_<secret>`: the prefix lets a secret scanner find a key that leaked. */
  'api-key': { make: () => `lehr_local_${base62(8)}_${base62(43)}`, minLength: 20 },
  /** API keys are stored as digests made with this pepper. */
  'key-pepper': { make: () => randomBytes(32).toString('base64url'), minLength: 32 },
  /** Encrypts what is stored in Redis and must stay secret. */
  'secret-key': { make: () => randomBytes(32).toString('base64url'), minLength: 32 },
  /** Signs the links of the folder store. */
  'store-secret': { make: () => randomBytes(32).toString('base64url'), minLength: 32 },
} as const;

export type SecretName = keyof typeof SECRETS;

export interface HomeSecret {
  readonly value: string;
  readonly path: string;
  /** True for the one caller that generated it. */
  readonly created: boolean;
}

/** Reads `<home>/<name>`, or generates it. Throws ConfigError when the file has no usable value or cannot be written. */
export async function homeSecret(home: string, name: SecretName): Promise<HomeSecret> {
  const path = join(home, name);
  let created: boolean;
  try {
    created = await createOnce(home, path, SECRETS[name].make);
  } catch (error) {
    throw new ConfigError([`LEHR_HOME is ${JSON.stringify(home)}: ${(error as Error).message}`]);
  }
  const fault = await homeSecretFault(home, name);
  if (fault !== undefined) throw new ConfigError([fault]);
  const value = (await readFile(path, 'utf8')).trim();
  if (((await stat(path)).mode & 0o077) !== 0) await chmod(path, 0o600);
  return { value, path, created };
}

/** What is wrong with `<home>/<name>`; undefined when it can be used, or does not exist yet. */
export async function homeSecretFault(home: string, name: SecretName): Promise<string | undefined> {
  const path = join(home, name);
  const { minLength } = SECRETS[name];
  try {
    const { length } = (await readFile(path, 'utf8')).trim();
    if (length >= minLength) return undefined;
    return `${path} holds ${length} characters, wanted at least ${minLength}; delete it`;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? undefined : `LEHR_HOME is ${JSON.stringify(home)}: ${message}`;
  }
}

/** Root of the folder store; the API and the workers of one machine share it. */
export const objectsFolder = (home: string): string => join(home, 'objects');

/** The list of models that is used when LEHR_MODELS is not set and the file exists. */
export const homeModelsFile = (home: string): string => join(home, 'models.yaml');

/** A hard link publishes the finished file atomically, and succeeds only for the first of several processes. */
async function createOnce(home: string, path: string, make: () => string): Promise<boolean> {
  if (await exists(path)) return false;
  await mkdir(home, { recursive: true });
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  await writeFile(draft, `${make()}\n`, { mode: 0o600, flag: 'wx' });
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

const BASE62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const base62 = (length: number): string =>
  Array.from({ length }, () => BASE62[randomInt(BASE62.length)]).join('');
