/**
 * A process with many simulated workers. Each has the queue side that ships (intake, leases, deadlines, finisher, janitor, idle
 * watch), its own three connections and its own report; only its device is simulated.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OutputStore } from '../../apps/worker/src/parent/delivery/output-store.ts';
import { QueueSide, type QueueSideParts } from '../../apps/worker/src/parent/queue-side.ts';
import { FleetReporter } from '../../apps/worker/src/parent/reports/fleet-reporter.ts';
import { WORKER_TIMES } from '../../apps/worker/src/parent/runs/worker-parts.ts';
import { systemClock as clock, silentLog as log, newWorkerId } from '../../packages/shared/src/index.ts';
import { openObjectStore } from '../../packages/shared/src/objects/index.ts';
import { AttemptStore, GroupQueues } from '../../packages/shared/src/queue/index.ts';
import { RecordStore } from '../../packages/shared/src/records/index.ts';
import { openRedis, redisReady } from '../../packages/shared/src/redis/index.ts';
import { KEYS as keys } from './jobs.ts';
import { SimulatedDevice } from './simulated-device.ts';

export interface WorkSettings {
  readonly url: string;
  readonly workers: number;
  readonly rows: number;
  readonly jobMs: number;
}

/** Sent once per second. */
export interface WorkReport {
  /** Tenant, time of the start and of the creation of each job that was started since the last report, by Redis's clock. */
  readonly starts: readonly (readonly [tenant: string, startedAt: number, createdAt: number])[];
  /** Ms of each claim command since the last report. */
  readonly claimMs: readonly number[];
  readonly leasesLost: number;
  readonly exits: number;
  readonly rssBytes: number;
}

const settings = JSON.parse(process.argv[2]) as WorkSettings;
let starts: WorkReport['starts'][number][] = [];
let claimMs: number[] = [];
let [leasesLost, exits] = [0, 0];
const REPORT_EVERY_MS = 1000;
/** More at once would wait too long for their replies on a busy machine. */
const OPENED_AT_ONCE = 5;

// The claim of a worker is inside of its queue side, so it is measured here.
const { start: claim } = AttemptStore.prototype;
AttemptStore.prototype.start = async function measured(
  this: AttemptStore,
  ...order: Parameters<typeof claim>
) {
  const from = performance.now();
  const claimed = await claim.apply(this, order);
  claimMs.push(performance.now() - from);
  return claimed;
};

async function openWorker(): Promise<() => void> {
  const [commands, blocking, subscriber] = (['worker', 'blocking', 'subscriber'] as const).map((role) =>
    openRedis(settings.url, role),
  );
  await redisReady(commands, 60_000);
  const queues = await GroupQueues.open(commands, keys);
  const store = await openObjectStore({
    kind: 'folder',
    root: join(tmpdir(), 'lehr-simulation-objects'),
    publicUrl: 'http://127.0.0.1',
    linkSecret: 'x'.repeat(32),
  });
  const device = new SimulatedDevice({
    ...settings,
    onRun: (record) => {
      if (record.state === 'running') starts.push([record.tenant, record.started_at, record.created_at]);
    },
  });
  const parts: Partial<QueueSideParts> = {
    id: newWorkerId('sim'),
    commands,
    blocking,
    subscriber,
    keys,
    queues,
    records: new RecordStore(commands, keys, { retentionMs: 3_600_000 }),
    outputs: new OutputStore({ store, clock, log, retryMs: 60_000, attemptMs: 30_000 }),
    clock,
    log,
    times: WORKER_TIMES,
    observe: {
      ended: () => {},
      endedAtClaim: () => {},
      expired: () => {},
      leaseLost: () => {
        leasesLost += 1;
      },
    } as Partial<QueueSideParts['observe']> as QueueSideParts['observe'],
  };
  const side = new QueueSide(parts as QueueSideParts, device, () => {
    exits += 1;
  });
  device.onRoom = () => side.roomFreed();
  await side.start();
  await reporterOf(parts as QueueSideParts).start();
  return () => side.startClaiming();
}

const reporterOf = (parts: QueueSideParts): FleetReporter =>
  new FleetReporter({
    ...parts,
    everyMs: WORKER_TIMES.reportEveryMs,
    status: () => ({
      id: parts.id,
      started_at: 0,
      tasks: ['diffusion'],
      draining: false,
      models: [{ ref: 'simulated@1', batching: 'step', providers: { unet: 'cpu' } }],
      unavailable: [],
      jobs: 0,
      lanes: [],
    }),
    running: () => ({ samples: [], calls: [] }),
    counts: async () => ({}),
  });

const start: (() => void)[] = [];
while (start.length < settings.workers) {
  const count = Math.min(OPENED_AT_ONCE, settings.workers - start.length);
  start.push(...(await Promise.all(Array.from({ length: count }, openWorker))));
}
setInterval(() => {
  const report: WorkReport = {
    starts,
    claimMs,
    leasesLost,
    exits,
    rssBytes: process.memoryUsage.rss(),
  };
  [starts, claimMs] = [[], []];
  process.send?.(report);
}, REPORT_EVERY_MS);
process.on('disconnect', () => process.exit(0));
process.on('message', () => {
  for (const each of start) each();
});
process.send?.({ ready: true });
