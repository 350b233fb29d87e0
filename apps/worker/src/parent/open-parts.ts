/** Opens what a worker is built from: the Redis connections, the store, the audio threads. */
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import {
  claimStore,
  type Log,
  newWorkerId,
  type Registry,
  type Settings,
  systemClock,
  type Task,
  versionsOf,
} from '@lehr/shared';
import { createEgress, parseAllowList } from '@lehr/shared/egress';
import { cacheSettings, type ModelPlaces, partFiles, versionFolder } from '@lehr/shared/model-cache';
import { type ObjectStore, openConfiguredStore, storePlace } from '@lehr/shared/objects';
import { GroupQueues, Repricer } from '@lehr/shared/queue';
import { CheckpointStore, RecordStore } from '@lehr/shared/records';
import {
  assertNoEviction,
  assertNothingDropped,
  keysOf,
  openRedis,
  redisAddress,
  redisReady,
} from '@lehr/shared/redis';
import { openTracing } from '@lehr/shared/tracing';
import type { CheckpointSettings, ModelToOpen } from '../engine/protocol/messages.ts';
import { providersOf } from '../engine/runtime/provider-library.ts';
import { AudioProcessor } from './audio/audio-processor.ts';
import { tasksOf, type WorkerConfig } from './env.ts';
import { mediaSource } from './runs/media-source.ts';
import { PictureReader } from './runs/picture-reader.ts';
import { WORKER_TIMES, type WorkerObserver, type WorkerParts } from './runs/worker-parts.ts';

/** A busy engine that sends no message for this long hangs inside a graph run. */
const ENGINE_SILENCE_MS = 120_000;
/** They compute the windows of audio for the engine. */
const AUDIO_THREADS = 2;
/** Audio files decoded at the same time, each by a process with one thread. */
const DECODINGS = 2;
const MB = 1_000_000;
/** A PNG of the largest picture that is read (runs/picture-input.ts) is seldom larger. */
const MAX_PICTURE_BYTES = 32 * MB;
/** Eight files of the largest size; a tenant has at most four of them. */
const PICTURE_FILES_BYTES = 8 * MAX_PICTURE_BYTES;
/** The largest picture that is read, with transparency and 16 bits, takes as much. */
const DECODED_PICTURES_BYTES = 512 * MB;
/** A larger checkpoint is stored in the object store. */
const MAX_REDIS_CHECKPOINT_BYTES = 256_000;
/** Beside LEHR_CHECKPOINT_STEPS: for slow steps, and the most that the pictures of a worker write together. */
const CHECKPOINT_EVERY_MS = 10_000;
const CHECKPOINT_BYTES_PER_S = 8 * MB;
/** Renewals per lease: several may fail before a lease is lost. */
const RENEWALS_PER_LEASE = 6;

export async function openParts(
  { config, models }: Settings<WorkerConfig>,
  log: Log,
  observe: WorkerObserver,
  engineEnv: Readonly<Record<string, string>>,
): Promise<WorkerParts> {
  const keys = keysOf(config.LEHR_NAMESPACE);
  const commands = openRedis(redisAddress(config), 'worker');
  await redisReady(commands);
  await assertNoEviction(commands);
  await assertNothingDropped(commands);
  const leaseTimes = { leaseMs: config.LEHR_LEASE_MS, stalledCheckMs: WORKER_TIMES.janitorEveryMs };
  const store = await openConfiguredStore(config);
  await claimStore({ redis: commands, keys, store, place: storePlace(config) });
  const maxRedisBytes = MAX_REDIS_CHECKPOINT_BYTES;
  return {
    id: newWorkerId(hostname()),
    tasks: tasksOf(config),
    commands,
    blocking: openRedis(redisAddress(config), 'blocking'),
    subscriber: openRedis(redisAddress(config), 'subscriber'),
    keys,
    queues: await GroupQueues.open(commands, keys, leaseTimes),
    records: new RecordStore(commands, keys, {
      retentionMs: Math.round(config.LEHR_RECORD_TTL_H * 3_600_000),
      usageMs: config.LEHR_USAGE_DAYS * 86_400_000,
    }),
    checkpoints: hasCheckpoints(config)
      ? new CheckpointStore({ redis: commands, keys, objects: store, maxRedisBytes })
      : undefined,
    repricer: new Repricer(commands, keys),
    store,
    audio: new AudioProcessor({
      threads: AUDIO_THREADS,
      decodings: DECODINGS,
      waveformBytes: config.LEHR_WAVEFORM_MB * MB,
      observe,
      entry: new URL('./audio/audio-thread.js', import.meta.url),
    }),
    fetchMedia: fetchMediaFrom(store, config),
    pictures: new PictureReader({
      fileBytes: MAX_PICTURE_BYTES,
      filesBytes: PICTURE_FILES_BYTES,
      decodedBytes: DECODED_PICTURES_BYTES,
    }),
    registry: models.registry,
    modelBytes: config.LEHR_MODEL_MEMORY_MB && config.LEHR_MODEL_MEMORY_MB * MB,
    engine: engineOptions({ config, models }, engineEnv),
    clock: systemClock,
    log,
    times: {
      ...WORKER_TIMES,
      renewEveryMs: Math.ceil(config.LEHR_LEASE_MS / RENEWALS_PER_LEASE),
      maxRunMs: config.LEHR_MAX_RUN_S * 1000,
    },
    observe,
    tracing: await openTracing(config, 'lehr-worker', log),
  };
}

const engineOptions = (
  { config, models }: Settings<WorkerConfig>,
  env: Readonly<Record<string, string>>,
): WorkerParts['engine'] => ({
  entry: new URL('../engine/process.js', import.meta.url),
  env,
  settings: {
    providers: providersOf(config.LEHR_DEVICE),
    rowCap: config.LEHR_ROW_CAP,
    threads: config.LEHR_THREADS,
    ...(hasCheckpoints(config) && { checkpoints: checkpointSettings(config) }),
  },
  models: modelsToOpen(models.registry, tasksOf(config), {
    models: dirname(models.path),
    cache: cacheSettings(config).cache,
  }),
  silenceMs: ENGINE_SILENCE_MS,
});

const hasCheckpoints = (config: WorkerConfig): boolean => config.LEHR_CHECKPOINT_STEPS > 0;

const checkpointSettings = (config: WorkerConfig): CheckpointSettings => ({
  everySteps: config.LEHR_CHECKPOINT_STEPS,
  everyMs: CHECKPOINT_EVERY_MS,
  bytesPerS: CHECKPOINT_BYTES_PER_S,
});

const fetchMediaFrom = (store: ObjectStore, config: WorkerConfig) =>
  mediaSource({
    store,
    egress: createEgress({ allow: parseAllowList(config.LEHR_EGRESS_ALLOW ?? '') }),
    maxBytes: {
      audio: config.LEHR_MAX_UPLOAD_MB * MB,
      picture: Math.min(config.LEHR_MAX_UPLOAD_MB * MB, MAX_PICTURE_BYTES),
    },
  });

/** The models that a worker of these tasks opens. */
export const modelsToOpen = (
  registry: Registry,
  tasks: readonly Task[],
  places: ModelPlaces,
): ModelToOpen[] =>
  versionsOf(registry, tasks).map(({ model, version, ref }): ModelToOpen => {
    const location = {
      ref,
      folder: versionFolder(version, places),
      ...(version.tuned && { tuned: version.tuned }),
    };
    if (model.task === 'diffusion') {
      const { width, height } = model.defaults;
      const { adapters, controls } = partFiles(model, places);
      return {
        ...location,
        task: 'diffusion',
        warmUp: { width, height },
        ...(adapters.length > 0 && { adapters }),
        ...(controls.length > 0 && { controls }),
      };
    }
    const variant = model.variant && { variant: model.variant };
    if (model.task !== 'transform') return { ...location, task: model.task, ...variant };
    const { task, result, scale, input, labels } = model;
    return {
      ...location,
      ...variant,
      task,
      result,
      scale,
      ...(input && { input }),
      ...(labels && { labels }),
    };
  });
