/** The checks of `lehr doctor` that need the server's machine: Redis, the store, providers, ffmpeg and models. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { demoModelsFile } from '@lehr/demo-models';
import {
  envSchema,
  homeModelsFile,
  otherStore,
  parseRegistry,
  readConfig,
  readFamily,
  type Task,
  type UsedStore,
} from '@lehr/shared';
import { modelCacheFolder } from '@lehr/shared/model-cache';
import { type ObjectStore, openConfiguredStore, storePlace } from '@lehr/shared/objects';
import {
  describeAddress,
  keysOf,
  openRedis,
  type Redis,
  redisAddress,
  withLocalRedis,
} from '@lehr/shared/redis';
import { providersOf } from '../../engine/runtime/provider-library.ts';
import { ffmpegProblem } from '../../parent/audio/ffmpeg.ts';
import type { Check } from './check.ts';
import { checkModels, checkProviders, type DeviceChoice } from './model-checks.ts';
import { checkUpgrade } from './plan-upgrade.ts';
import { checkRedis } from './redis-checks.ts';

const DoctorEnv = envSchema(
  'LEHR_HOME',
  'LEHR_REDIS_URL',
  'LEHR_NAMESPACE',
  'LEHR_MODELS',
  'LEHR_MODEL_CACHE',
  'LEHR_S3_BUCKET',
  'AWS_REGION',
  'AWS_ENDPOINT_URL_S3',
  'LEHR_DEVICE',
  'LEHR_TASKS',
  'LEHR_THREADS',
);

const ELSEWHERE =
  'Run this where npm start is run, or with the variables of the server. In containers: ' +
  'docker compose -f infra/compose.yaml exec worker-cpu node apps/worker/dist/programs/doctor/main.js';

type Source = Readonly<Record<string, string | undefined>>;

interface DiagnoseOptions {
  readonly skipModels: boolean;
  /** Only what an upgrade to this version needs. */
  readonly upgrade?: boolean;
}

/** Makes one check after the other. `source` has the variables that the server is started with. */
export async function* diagnose(
  source: Source,
  { skipModels, upgrade = false }: DiagnoseOptions,
): AsyncGenerator<Check, undefined> {
  let env: Awaited<ReturnType<typeof readEnv>>;
  try {
    env = await readEnv(source);
  } catch (error) {
    const detail = (error as Error).message.replaceAll('\n  -', '');
    return void (yield { name: 'configuration', state: 'fail', detail, advice: 'docs/settings.md.' });
  }
  const redis = openRedis(redisAddress(env), 'api', 'doctor');
  if (upgrade) {
    yield* await checkUpgrade(redis, describeAddress(redisAddress(env)), env.LEHR_NAMESPACE);
    return void redis.disconnect();
  }
  if (!source.LEHR_REDIS_URL && !existsSync(env.LEHR_HOME)) {
    redis.disconnect();
    const detail = `${env.LEHR_HOME} is not here: Redis, the store and the models were not checked`;
    return void (yield { name: 'server', state: 'warn', detail, advice: ELSEWHERE });
  }
  yield* checkRedis(redis, describeAddress(redisAddress(env)));
  yield await storeCheck(env, redis);
  redis.disconnect();
  const choice = {
    device: env.LEHR_DEVICE,
    providers: providersOf(env.LEHR_DEVICE),
    threads: env.LEHR_THREADS,
  };
  yield checkProviders(choice);
  yield* modelChecks(env, choice, skipModels);
}

async function readEnv(source: Source) {
  return readConfig(DoctorEnv, await withLocalRedis(source));
}

type Env = Awaited<ReturnType<typeof readEnv>>;

function storeCheck(env: Env, redis: Redis): Promise<Check> | Check {
  const isFolder = env.LEHR_S3_BUCKET === undefined;
  if (isFolder && !existsSync(env.LEHR_HOME)) {
    // Opening the store would create the folder.
    const advice = 'Run this where npm start is run, or set LEHR_HOME.';
    return { name: 'store', state: 'fail', detail: `${env.LEHR_HOME} is not there`, advice };
  }
  return checkStore({
    open: () => openConfiguredStore(env),
    redis,
    keys: keysOf(env.LEHR_NAMESPACE),
    place: storePlace(env),
  });
}

async function* modelChecks(
  env: Env,
  choice: DeviceChoice,
  skipModels: boolean,
): AsyncGenerator<Check, undefined> {
  const tasks = env.LEHR_TASKS.split(',') as Task[];
  const own = homeModelsFile(env.LEHR_HOME);
  const file = resolve(env.LEHR_MODELS ?? (existsSync(own) ? own : demoModelsFile()));
  const places = {
    models: dirname(file),
    cache: resolve(env.LEHR_MODEL_CACHE ?? modelCacheFolder(env.LEHR_HOME)),
  };
  try {
    const registry = parseRegistry(await readFile(file, 'utf8'), (path) =>
      readFamily(join(dirname(file), path)),
    );
    const servesSpeech = tasks.includes('whisper') && registry.models.some(({ task }) => task === 'whisper');
    if (servesSpeech) yield await checkAudio();
    if (!skipModels) yield* checkModels(registry, places, tasks, choice);
  } catch (error) {
    const advice = 'Set LEHR_MODELS to the path of a models.yaml.';
    yield { name: 'models', state: 'fail', detail: `${file}: ${(error as Error).message}`, advice };
  }
}

/** Whether speech jobs could be decoded on this machine, by decoding a small file. */
async function checkAudio(): Promise<Check> {
  const name = 'ffmpeg';
  const problem = await ffmpegProblem();
  if (problem === undefined) return { name, state: 'ok', detail: `${await version()} decodes audio` };
  const advice =
    'Install ffmpeg (sudo apt-get install ffmpeg), or set LEHR_TASKS=diffusion on workers that serve no speech.';
  return { name, state: 'fail', detail: problem, advice };
}

/** The first line begins "ffmpeg version 5.1.9-0+deb12u1 Copyright". */
async function version(): Promise<string> {
  const { stdout } = await promisify(execFile)('ffmpeg', ['-version']);
  return stdout.split(' ').slice(1, 3).join(' ');
}

interface CheckedStore extends Omit<UsedStore, 'store'> {
  readonly open: () => Promise<ObjectStore>;
}

/** Checks that outputs can be stored, by storing one, and that the store is the one of the installation in Redis. */
export async function checkStore({ open, ...used }: CheckedStore): Promise<Check> {
  const name = 'store';
  const { redis, place } = used;
  try {
    const store = await open();
    await store.check();
    // The checks of Redis have said so if it is not connected.
    const other = redis.status === 'ready' ? await otherStore({ ...used, store }) : undefined;
    if (other) return { name, state: 'fail', detail: other.problem, advice: other.advice };
    return { name, state: 'ok', detail: `${place} accepts writes` };
  } catch (error) {
    const { message, cause } = error as Error & { cause?: Error };
    const detail =
      cause?.message && !message.includes(cause.message) ? `${message} (${cause.message})` : message;
    const advice =
      'Check the permissions and free space of the folder, or the name and credentials of the bucket.';
    return { name, state: 'fail', detail: `${place}: ${detail}`, advice };
  }
}
