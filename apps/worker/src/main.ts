/** Starts one worker from the environment and stops it cleanly: drain on SIGTERM, leave at once on the second one. */
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { demoModelsFile } from '@lehr/demo-models';
import {
  ConfigError,
  createLog,
  createMetrics,
  homeSecret,
  LehrError,
  newWorkerId,
  objectsFolder,
  systemClock,
} from '@lehr/shared';
import { createEgress, parseAllowList } from '@lehr/shared/egress';
import { openObjectStore } from '@lehr/shared/objects';
import { GroupQueues } from '@lehr/shared/queue';
import { RecordStore } from '@lehr/shared/records';
import { assertNoEviction, keysOf, openRedis, redisReady } from '@lehr/shared/redis';
import { AudioDesk } from './audio/audio-desk.ts';
import { readWorkerSettings, tasksOf, type WorkerConfig } from './env.ts';
import { serveHealth } from './health.ts';
import { modelsToOpen } from './models-to-open.ts';
import { observeWorker, readGaugesOf } from './observe.ts';
import { providersOf } from './providers.ts';
import { audioSource } from './runs/audio-source.ts';
import { Worker } from './worker.ts';
import { WORKER_TIMES } from './worker-parts.ts';

/** A busy engine that says nothing for so long hangs inside a graph run. */
const ENGINE_SILENCE_MS = 120_000;
/** For decoding audio and making its windows. */
const AUDIO_THREADS = 2;
const MB = 1_000_000;
/** Renewals per lease: several may be missed before a lease is lost. */
const RENEWALS_PER_LEASE = 6;

async function main(): Promise<void> {
  const { config: env, models } = await readWorkerSettings(process.env, demoModelsFile());
  const log = createLog('worker', env.LEHR_LOG_LEVEL, { logPrompts: env.LEHR_LOG_PROMPTS });
  const tasks = tasksOf(env);
  const id = newWorkerId(hostname());
  const keys = keysOf(env.LEHR_NAMESPACE);

  const commands = openRedis(env.LEHR_REDIS_URL, 'worker');
  await redisReady(commands);
  await assertNoEviction(commands);
  const times = { leaseMs: env.LEHR_LEASE_MS, stalledCheckMs: WORKER_TIMES.janitorEveryMs };
  const { metrics, page } = createMetrics('worker', { processMetrics: true });
  const store = await openStore(env);
  const worker = new Worker({
    id,
    tasks,
    commands,
    blocking: openRedis(env.LEHR_REDIS_URL, 'blocking'),
    subscriber: openRedis(env.LEHR_REDIS_URL, 'subscriber'),
    keys,
    queues: await GroupQueues.open(commands, keys, times),
    records: new RecordStore(commands, keys, { retentionMs: env.LEHR_RECORD_TTL_H * 3_600_000 }),
    store,
    audio: new AudioDesk({
      threads: AUDIO_THREADS,
      entry: new URL('./audio/audio-thread.js', import.meta.url),
    }),
    fetchAudio: audioSource({
      store,
      egress: createEgress({
        allow: parseAllowList(env.LEHR_EGRESS_ALLOW ?? ''),
        allowPrivate: env.LEHR_WEBHOOK_ALLOW_PRIVATE,
      }),
      maxBytes: env.LEHR_MAX_UPLOAD_MB * MB,
    }),
    registry: models.registry,
    engine: {
      entry: new URL('./engine/process.js', import.meta.url),
      settings: {
        providers: providersOf(env.LEHR_DEVICE),
        rowCap: env.LEHR_ROW_CAP,
        threads: env.LEHR_THREADS,
      },
      models: modelsToOpen(models.registry, tasks, dirname(models.path)),
      silenceMs: ENGINE_SILENCE_MS,
    },
    clock: systemClock,
    log,
    times: { ...WORKER_TIMES, renewEveryMs: Math.ceil(env.LEHR_LEASE_MS / RENEWALS_PER_LEASE) },
    onEngineLost: () => void stop(1),
    observe: observeWorker(metrics),
  });
  readGaugesOf(worker, metrics, page, env.LEHR_DEVICE, id);

  let stopping = false;
  const stop = async (code: number): Promise<void> => {
    // Whoever asks twice means it.
    if (stopping) process.exit(code || 130);
    stopping = true;
    await worker.stop(env.LEHR_DRAIN_S * 1000);
    process.exit(code);
  };
  process.on('SIGTERM', () => void stop(0));
  process.on('SIGINT', () => void stop(0));

  const health = await serveHealth(env.LEHR_WORKER_PORT, env.LEHR_HOST, {
    isServing: () => worker.isServing,
    metrics: async () => ({ contentType: page.contentType, text: await page.render() }),
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new ConfigError([
      `LEHR_WORKER_PORT: port ${env.LEHR_WORKER_PORT} is taken; set another, or 0 for any`,
    ]);
  });
  const address = health.address();
  log.info({ worker: id, port: typeof address === 'object' ? address?.port : undefined }, 'worker starts');
  await worker.start();
}

async function openStore(env: WorkerConfig) {
  if (env.LEHR_STORE === 's3') {
    return openObjectStore({
      kind: 's3',
      // readSettings refuses a store without it.
      bucket: env.LEHR_S3_BUCKET ?? '',
      region: env.LEHR_S3_REGION,
      ...(env.LEHR_S3_ENDPOINT && { endpoint: env.LEHR_S3_ENDPOINT }),
      ...(env.LEHR_S3_PUBLIC_ENDPOINT && { publicEndpoint: env.LEHR_S3_PUBLIC_ENDPOINT }),
    });
  }
  const secret = env.LEHR_STORE_SECRET ?? (await homeSecret(env.LEHR_HOME, 'store-secret')).value;
  const publicUrl = env.LEHR_PUBLIC_URL ?? `http://${env.LEHR_HOST}:${env.LEHR_PORT}`;
  return openObjectStore({
    kind: 'folder',
    root: objectsFolder(env.LEHR_HOME),
    publicUrl,
    linkSecret: secret,
  });
}

main().catch((error: unknown) => {
  const isOurs = error instanceof ConfigError || error instanceof LehrError;
  process.stderr.write(`lehr worker: ${isOurs ? error.message : (error as Error).stack}\n`);
  process.exit(isOurs ? 78 : 1);
});
