/** A worker program on a simulated device with a chosen engine. Its settings are JSON in the first argument. */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CheckpointSettings } from '../../apps/worker/src/engine/protocol/messages.ts';
import type { LatencyModel } from '../../apps/worker/src/engine/runtime/simulated.ts';
import { AudioProcessor } from '../../apps/worker/src/parent/audio/audio-processor.ts';
import { modelsToOpen } from '../../apps/worker/src/parent/open-parts.ts';
import { sendToParent, watchParent } from '../../apps/worker/src/parent/parent.ts';
import { StartReport } from '../../apps/worker/src/parent/reports/start-report.ts';
import { mediaSource } from '../../apps/worker/src/parent/runs/media-source.ts';
import { PictureReader } from '../../apps/worker/src/parent/runs/picture-reader.ts';
import { WORKER_TIMES, type WorkerTimes } from '../../apps/worker/src/parent/runs/worker-parts.ts';
import { Worker } from '../../apps/worker/src/parent/worker.ts';
import { createEgress } from '../../packages/shared/src/egress/index.ts';
import { createLog, newWorkerId, parseRegistry, systemClock } from '../../packages/shared/src/index.ts';
import { openObjectStore } from '../../packages/shared/src/objects/index.ts';
import { GroupQueues, Repricer } from '../../packages/shared/src/queue/index.ts';
import { CheckpointStore, RecordStore } from '../../packages/shared/src/records/index.ts';
import { keysOf, openRedis, redisAddress, redisReady } from '../../packages/shared/src/redis/index.ts';
import { measureOwnDelay } from './own-delay.ts';

export interface SimulatedWorkerSettings {
  readonly redisUrl: string;
  readonly namespace: string;
  readonly modelsFile: string;
  /** Outputs go to a folder in it, unless there is an S3 server. */
  readonly home: string;
  readonly s3?: { readonly endpoint: string; readonly bucket: string; readonly region: string };
  /** Null: the graphs run on the CPU. */
  readonly latency: LatencyModel | null;
  readonly engineEntry: string;
  readonly rowCap: number | 'auto';
  readonly leaseMs: number;
  readonly stalledCheckMs: number;
  readonly silenceMs: number;
  readonly drainMs: number;
  readonly times: Partial<WorkerTimes>;
  /** When pictures are checkpointed; null: never. */
  readonly checkpoints: CheckpointSettings | null;
  /** Log every step. */
  readonly logsSteps: boolean;
  /** The connection that waits for jobs never answers, and does not close. */
  readonly neverWakes: boolean;
}

const settings = JSON.parse(process.argv[2]) as SimulatedWorkerSettings;
const log = createLog('worker', 'info');
const keys = keysOf(settings.namespace);
const registry = parseRegistry(await readFile(settings.modelsFile, 'utf8'));
const address = redisAddress({ LEHR_REDIS_URL: settings.redisUrl });
const commands = openRedis(address, 'worker');
await redisReady(commands);
let leasesLost = 0;
const blocking = openRedis(address, 'blocking');
if (settings.neverWakes) {
  const bzpopmin = (): Promise<never> => {
    log.info({}, 'sleeps and never wakes');
    return new Promise(() => {});
  };
  Object.assign(blocking, { bzpopmin });
}

const store = await openObjectStore(
  settings.s3
    ? { kind: 's3', ...settings.s3 }
    : {
        kind: 'folder',
        root: join(settings.home, 'objects'),
        publicUrl: 'http://127.0.0.1',
        linkSecret: 'x'.repeat(32),
      },
);
const { checkpoints } = settings;
const id = newWorkerId('sim');
const since = Date.now() - process.uptime() * 1000;
const start = new StartReport({ redis: commands, keys, log, worker: { id, since, models: ['tiny@1'] } });
await start.start();
const worker = new Worker({
  id,
  tasks: ['diffusion'],
  commands,
  blocking,
  subscriber: openRedis(address, 'subscriber'),
  keys,
  queues: await GroupQueues.open(commands, keys, settings),
  records: new RecordStore(commands, keys, { retentionMs: 3_600_000 }),
  repricer: new Repricer(commands, keys),
  store,
  ...(checkpoints && {
    checkpoints: new CheckpointStore({ redis: commands, keys, objects: store, maxRedisBytes: 256_000 }),
  }),
  registry,
  engine: {
    entry: new URL(settings.engineEntry),
    settings: {
      providers: ['cpu'],
      rowCap: settings.rowCap,
      ...(settings.latency && { simulated: settings.latency }),
      ...(checkpoints && { checkpoints }),
    },
    models: modelsToOpen(registry, ['diffusion'], {
      models: dirname(settings.modelsFile),
      cache: join(settings.home, 'models'),
    }),
    silenceMs: settings.silenceMs,
  },
  audio: new AudioProcessor({
    threads: 1,
    decodings: 1,
    waveformBytes: 100e6,
    entry: new URL('../../apps/worker/dist/parent/audio/audio-thread.js', import.meta.url),
  }),
  fetchMedia: mediaSource({ store, egress: createEgress({}), maxBytes: { audio: 1e7, picture: 1e7 } }),
  pictures: new PictureReader({ fileBytes: 1e7, filesBytes: 4e7, decodedBytes: 1e8 }),
  clock: systemClock,
  log,
  times: { ...WORKER_TIMES, ...settings.times },
  observe: {
    modelLoaded: () => {},
    modelUnloaded: () => {},
    stepped: ({ samples }) => {
      if (settings.logsSteps) log.info({ samples }, 'stepped');
    },
    decoderProgress: () => {},
    textProgress: () => {},
    transformProgress: () => {},
    decoded: () => {},
    decodeRefused: () => {},
    ended: () => {},
    endedAtClaim: () => {},
    claimed: () => {},
    janitorDid: () => {},
    expired: () => {},
    checkpoint: () => {},
    leaseLost: () => {
      leasesLost += 1;
    },
    engineDied: () => {},
  },
});
const stop = (): void => void worker.stop(settings.drainMs).then(() => process.exit(0));
process.on('SIGTERM', stop);
watchParent(stop);
process.on('SIGUSR2', () => {
  log.info(
    {
      maxDelayMs: longestDelayMs(),
      leasesLost,
      restarts: worker.engineRestarts,
      activeJobs: worker.activeJobs,
    },
    'measured',
  );
});
await worker.start({ onEngineLost: () => process.exit(1), onStuck: () => process.exit(1) });
start.ended('open', process.uptime() * 1000);
await start.served(Date.now());
sendToParent({ type: 'serving', worker: id });
const longestDelayMs = measureOwnDelay();
log.info({ engine: worker.enginePid }, 'simulated worker serves');
