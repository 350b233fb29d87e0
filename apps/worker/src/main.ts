/**
 * Starts one worker from the environment. The first SIGTERM or SIGINT drains it, and so does a notice that EC2 takes the instance
 * back; the second signal ends it at once. Exit codes: 0 stopped, 1 internal error, 69 a dependency is unavailable, 78 bad
 * configuration.
 */
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { demoModelsFile } from '@lehr/demo-models';
import {
  ConfigError,
  createLog,
  createMetrics,
  LehrError,
  type Log,
  logUncaught,
  type MetricsPage,
  ModelsWatch,
  PRIVATE_UMASK,
  reloadOnHangUp,
  type Settings,
  systemClock,
} from '@lehr/shared';
import { cacheSettings } from '@lehr/shared/model-cache';
import { readWorkerSettings, tasksOf, type WorkerConfig } from './parent/env.ts';
import { type HealthOptions, serveHealth } from './parent/health.ts';
import { ModelFetcher } from './parent/model-fetcher.ts';
import { observeWorker, readGaugesOf, workerCounts } from './parent/observe.ts';
import { modelsToOpen, openParts } from './parent/open-parts.ts';
import { sendToParent, watchParent } from './parent/parent.ts';
import { StartReport } from './parent/reports/start-report.ts';
import type { WorkerParts } from './parent/runs/worker-parts.ts';
import { spotNotice } from './parent/spot-notice.ts';
import { engineEnvironment } from './parent/supervisor/engine-process.ts';
import { Worker } from './parent/worker.ts';

/** The exit code of a program that a second signal ended. */
const ENDED_BY_SIGNAL = 130;

async function main(): Promise<void> {
  const processMs = sinceBeginMs();
  process.umask(PRIVATE_UMASK);
  const settings = await readWorkerSettings(process.env, demoModelsFile());
  const { LEHR_LOG_LEVEL, LEHR_LOG_PROMPTS, LEHR_DEVICE, LEHR_DRAIN_S, LEHR_WORKER_PORT, LEHR_HOST } =
    settings.config;
  const { AWS_EC2_METADATA_SERVICE_ENDPOINT: metadataUrl } = settings.config;
  const log = createLog('worker', LEHR_LOG_LEVEL, { logPrompts: LEHR_LOG_PROMPTS });
  logUncaught(log);
  const { metrics, page } = createMetrics('worker', { processMetrics: true });
  const opened = await openParts(
    settings,
    log,
    observeWorker(metrics),
    engineEnvironment(process.env, settings.config.LEHR_MODEL_MEMORY_MB !== undefined),
  );
  if (opened.tracing) page.showExemplars();
  const fetcher = new ModelFetcher({
    registry: settings.models.registry,
    tasks: opened.tasks,
    settings: cacheSettings(settings.config),
    clock: systemClock,
    log,
    onFetched: (ref, ms) => worker.modelFetched(ref, ms),
  });
  const whyNotFetched = (ref: string) => fetcher.problemOf(ref);
  const parts = { ...opened, whyNotFetched, counts: () => workerCounts(metrics) };
  const worker = new Worker(parts);
  const watch = watchModels(settings, { worker, fetcher, log });
  readGaugesOf(worker, metrics, page, LEHR_DEVICE, parts.id);
  page.beforeScrape(async () => metrics.modelsFileProblem.set(watch.problem === undefined ? 0 : 1));
  let hasModels = false;
  const stop = stopper(fetcher, worker, () => hasModels, LEHR_DRAIN_S * 1000);
  stopOnSignals(stop);
  watchParent(() => stop(0));
  const start = startReport(parts);
  start.ended('process', processMs);
  start.ended('connect', sinceBeginMs());
  await start.start();
  sendToParent({ type: 'starting', worker: parts.id });
  const unreadyReason = async () => (hasModels ? worker.unreadyReason() : (fetcher.problem ?? 'not serving'));
  const hint = () =>
    watch.problem && `models.yaml cannot be used, the earlier one is in force: ${watch.problem}`;
  const port = await openHealthPort(LEHR_WORKER_PORT, LEHR_HOST, { unreadyReason, hint }, page);
  const { providers } = parts.engine.settings;
  log.info({ worker: parts.id, port, device: LEHR_DEVICE, providers }, 'worker starts');
  if (metadataUrl !== undefined) void stopOnSpotNotice(metadataUrl, log, stop);
  watch.start();
  reloadOnHangUp(watch);
  await fetcher.start();
  hasModels = true;
  start.ended('pull', sinceBeginMs());
  // A drain would wait for the claiming, which is what is stuck.
  await worker.start({ onEngineLost: () => stop(1), onStuck: () => process.exit(1) });
  start.ended('open', sinceBeginMs());
  const coldStart = await start.served(systemClock.now());
  log.info({ worker: parts.id, ...coldStart }, 'worker started');
  sendToParent({ type: 'serving', worker: parts.id });
}

const sinceBeginMs = (): number => process.uptime() * 1000;

const startReport = ({ commands: redis, keys, log, id, engine }: WorkerParts): StartReport =>
  new StartReport({
    redis,
    keys,
    log,
    worker: { id, since: systemClock.now() - sinceBeginMs(), models: engine.models.map(({ ref }) => ref) },
  });

interface Reloaded {
  readonly worker: Worker;
  readonly fetcher: ModelFetcher;
  readonly log: Log;
}

/** Serves what models.yaml names when it changes. */
function watchModels(
  { config, models }: Settings<WorkerConfig>,
  { worker, fetcher, log }: Reloaded,
): ModelsWatch {
  const tasks = tasksOf(config);
  const places = { models: dirname(models.path), cache: cacheSettings(config).cache };
  return new ModelsWatch({
    models,
    clock: systemClock,
    log,
    fault: ({ models: offered }) =>
      offered.some(({ task }) => tasks.includes(task))
        ? undefined
        : `no model has a task of LEHR_TASKS, "${config.LEHR_TASKS}"`,
    onChanged: () => {
      worker.wantModels(modelsToOpen(models.registry, tasks, places));
      void fetcher.readRegistry();
    },
  });
}

type Stop = (code: number) => void;

/** A function that drains the worker and exits. A call with an error during the drain exits at once. */
function stopper(fetcher: ModelFetcher, worker: Worker, hasModels: () => boolean, drainMs: number): Stop {
  let isStopping = false;
  return (code) => {
    if (isStopping && code !== 0) process.exit(code);
    if (isStopping) return;
    isStopping = true;
    fetcher.stop();
    if (!hasModels()) process.exit(code);
    void worker.stop(drainMs).then(() => process.exit(code));
  };
}

function stopOnSignals(stop: Stop): void {
  let signals = 0;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      signals += 1;
      if (signals > 1) process.exit(ENDED_BY_SIGNAL);
      stop(0);
    });
  }
}

/** A signal that follows the notice does not end the drain: a cluster that sees the notice too sends SIGTERM. */
async function stopOnSpotNotice(metadataUrl: string, log: Log, stop: Stop): Promise<void> {
  const notice = await spotNotice({ metadataUrl, clock: systemClock, log });
  log.warn({ notice }, 'EC2 takes this instance back; the worker drains');
  stop(0);
}

/** Returns the port that it listens on. */
async function openHealthPort(
  port: number,
  host: string,
  readiness: Omit<HealthOptions, 'metrics'>,
  page: MetricsPage,
): Promise<number> {
  try {
    const server = await serveHealth(port, host, {
      ...readiness,
      metrics: (accept) => page.answer(accept),
    });
    return (server.address() as AddressInfo).port;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new ConfigError([`LEHR_WORKER_PORT: port ${port} is taken; set another, or 0 for any`]);
  }
}

/** As in sysexits.h: a supervisor may restart a worker whose Redis or store is unavailable. */
function exitCodeOf(error: unknown): number {
  if (error instanceof ConfigError) return 78;
  return error instanceof LehrError ? 69 : 1;
}

main().catch((error: unknown) => {
  const isExpected = error instanceof ConfigError || error instanceof LehrError;
  process.stderr.write(`lehr worker: ${isExpected ? error.message : (error as Error).stack}\n`);
  process.exit(exitCodeOf(error));
});
