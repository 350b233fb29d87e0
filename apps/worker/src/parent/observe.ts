/** The worker's metrics, made from its events. */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import {
  addCounter,
  addHistogram,
  type Counts,
  ERROR_CODES,
  type ErrorCode,
  type JobState,
  type Metrics,
  type MetricsPage,
  modelSuffix,
  parseGroupQueueName,
  systemClock,
} from '@lehr/shared';
import { JANITOR_ACTIONS } from '@lehr/shared/queue';
import type { Fusion } from '../engine/runtime/runtime.ts';
import type { JobRun } from './runs/job-run.ts';
import { PictureRun } from './runs/picture-run.ts';
import { SpeechRun } from './runs/speech-run.ts';
import { TextRun } from './runs/text-run.ts';
import { TransformRun } from './runs/transform-run.ts';
import type { WorkerObserver } from './runs/worker-parts.ts';
import type { Worker } from './worker.ts';

/** The monitor wakes this process so often; each time takes CPU, also of a worker without jobs, and of the core that a graph needs. */
export const EVENT_LOOP_TICK_MS = 20;
const ROWS = [1, 2, 4, 8, 16, 32, 64];

export function observeWorker(metrics: Metrics<'worker'>): WorkerObserver {
  // So that a rate counts the first one too.
  for (const action of JANITOR_ACTIONS) metrics.janitorActions.inc({ action }, 0);
  return {
    modelLoaded: (ref, stage, ms) => {
      const [model, version] = ref.split('@');
      metrics.modelLoad.observe({ model, version, stage }, ms / 1000);
    },
    modelUnloaded: (ref) => {
      const [model, version] = ref.split('@');
      metrics.modelUnloads.inc({ model, version });
    },
    stepped: ({ lane, rows, cap, ms, hostMs, samples }) => {
      const labels = labelsOfQueue(lane);
      metrics.batches.inc(labels);
      metrics.batchRows.observe(labels, rows);
      metrics.batchSize.observe(labels, samples.length);
      metrics.inferenceCompute.observe({ ...labels, stage: 'denoise' }, ms / 1000);
      metrics.stepTime.observe({ ...labels, rows: rowsLabel(rows) }, ms / 1000);
      if (hostMs !== undefined) metrics.stepHostTime.observe(labels, hostMs / 1000);
      metrics.laneOccupancy.observe(labels, Math.min(1, rows / cap));
    },
    decoderProgress: ({ lane, calls, tokens, ms, samples }) => {
      const labels = labelsOfQueue(lane);
      metrics.tokens.inc(labels, tokens);
      metrics.windowsPerBatch.observe(labels, samples.length);
      if (calls > 0) metrics.inferenceCompute.observe({ ...labels, stage: 'write' }, ms / calls / 1000);
    },
    textProgress: ({ lane, runs, texts, tokens, padding, ms }) => {
      if (runs === 0) return;
      const labels = labelsOfQueue(lane);
      metrics.texts.inc(labels, texts);
      metrics.textTokens.inc(labels, tokens);
      metrics.textPadding.inc(labels, padding);
      metrics.textsPerRun.observe(labels, texts / runs);
      metrics.inferenceCompute.observe({ ...labels, stage: 'encode' }, ms / runs / 1000);
    },
    transformProgress: ({ lane, runs, tiles, ms }) => {
      if (runs === 0) return;
      const labels = labelsOfQueue(lane);
      metrics.tiles.inc(labels, tiles);
      metrics.tilesPerRun.observe(labels, tiles / runs);
      metrics.inferenceCompute.observe({ ...labels, stage: 'transform' }, ms / runs / 1000);
    },
    decoded: (ms) => metrics.audioDecode.observe({}, ms / 1000),
    decodeRefused: (code) => metrics.audioRefused.inc({ code }),
    ended: (run, end) => {
      if (end) countEnd(metrics, run, end);
    },
    endedAtClaim: (queue, end, code) => {
      metrics.requests.inc({ ...labelsOfQueue(queue), outcome: end });
      if (code) countFailure(metrics, queue, code);
    },
    claimed: (queue, jobs, ms) => {
      metrics.claims.inc(labelsOfQueue(queue), jobs);
      metrics.claimTime.observe({}, ms / 1000);
    },
    janitorDid: (action, count) => metrics.janitorActions.inc({ action }, count),
    // A workflow is counted by its type, as in the API.
    expired: ({ queue, workflow, type }) => {
      const labels = workflow ? { model: type, version: '' } : labelsOfQueue(queue);
      metrics.requests.inc({ ...labels, outcome: 'expired' });
    },
    checkpoint: (queue, outcome, bytes = 0) => {
      const labels = labelsOfQueue(queue);
      metrics.checkpoints.inc({ ...labels, outcome });
      metrics.checkpointBytes.inc(labels, bytes);
    },
    leaseLost: () => metrics.leasesLost.inc(),
    engineDied: ({ hung, signal, code }) =>
      metrics.engineRestarts.inc({ reason: hung ? 'hung' : (signal ?? `code ${code}`) }),
  };
}

function countEnd(metrics: Metrics<'worker'>, run: JobRun, end: JobState): void {
  const labels = labelsOfQueue(run.record.queue);
  metrics.requests.inc({ ...labels, outcome: end });
  metrics.queueTime.observe({ ...labels, class: run.record.priority }, run.queuedMs / 1000, run.record.trace);
  if (run.stopReason?.kind === 'failed') countFailure(metrics, run.record.queue, run.stopReason.code);
  if (run instanceof PictureRun)
    for (const verdict of run.outcomes) metrics.safetyPictures.inc({ ...labels, verdict });
  if (end !== 'succeeded') return;
  if (run instanceof PictureRun) countPictures(metrics, run, labels);
  if (run instanceof SpeechRun) countSpeech(metrics, run, labels);
  if (run instanceof TransformRun) countTransform(metrics, run, labels);
  if (run instanceof TextRun) {
    countSuccess(metrics, run, labels, run.queuedMs + run.runMs);
  }
}

function countFailure(metrics: Metrics<'worker'>, queue: string, code: ErrorCode): void {
  const fault = ERROR_CODES[code].status < 500 ? 'caller' : 'service';
  metrics.jobFailures.inc({ ...labelsOfQueue(queue), code, fault });
}

function countSpeech(
  metrics: Metrics<'worker'>,
  run: SpeechRun,
  labels: { model: string; version: string },
): void {
  const { audioSeconds, runMs } = run;
  metrics.audioSeconds.inc(labels, audioSeconds);
  if (audioSeconds > 0) metrics.realTimeFactor.observe(labels, runMs / 1000 / audioSeconds);
  countSuccess(metrics, run, labels, run.queuedMs + runMs);
}

function countPictures(
  metrics: Metrics<'worker'>,
  run: PictureRun,
  labels: { model: string; version: string },
): void {
  for (const { times, checkMs } of run.pictures) {
    const { submittedAt, engine, encodedAt, uploadedAt } = times;
    metrics.images.inc(labels);
    metrics.inferencePostprocess.observe(
      labels,
      (encodedAt - submittedAt - engine.decodedAt - checkMs) / 1000,
    );
    metrics.upload.observe(labels, (uploadedAt - encodedAt) / 1000);
    metrics.inferenceCompute.observe({ ...labels, stage: 'text' }, engine.textMs / 1000);
    metrics.inferenceCompute.observe({ ...labels, stage: 'decode' }, engine.decodeMs / 1000);
  }
  const lastUpload = Math.max(...run.pictures.map(({ times }) => times.uploadedAt));
  countSuccess(metrics, run, labels, run.queuedMs + lastUpload - run.claimedAt);
}

function countTransform(
  metrics: Metrics<'worker'>,
  run: TransformRun,
  labels: { model: string; version: string },
): void {
  if (run.file) {
    metrics.images.inc(labels);
    metrics.inferencePostprocess.observe(labels, run.file.encodeMs / 1000);
    metrics.upload.observe(labels, run.file.uploadMs / 1000);
  }
  countSuccess(metrics, run, labels, run.queuedMs + run.runMs);
}

/** The times of a job that succeeded. */
function countSuccess(
  metrics: Metrics<'worker'>,
  { record, engineMs }: PictureRun | SpeechRun | TextRun | TransformRun,
  labels: { model: string; version: string },
  totalMs: number,
): void {
  metrics.requestDuration.observe({ ...labels, outcome: 'succeeded' }, totalMs / 1000, record.trace);
  metrics.engineTime.observe(labels, engineMs / 1000, record.trace);
  const byClass = { ...labels, class: record.priority };
  if (record.cost > 0) metrics.slowdown.observe(byClass, totalMs / record.cost, record.trace);
}

/** The smallest step of the ladder that holds the rows, so that the label has few values. */
const rowsLabel = (rows: number): string => String(ROWS.find((step) => rows <= step) ?? 'more');

/** Sets the gauges whose values are read at each scrape. */
export function readGaugesOf(
  worker: Worker,
  metrics: Metrics<'worker'>,
  page: MetricsPage,
  device: string,
  id: string,
): void {
  showEventLoopDelay(metrics, page, startEventLoopMonitor());
  metrics.workerInfo.set({ worker: id, device }, 1);
  page.beforeScrape(async () => {
    metrics.leases.set(worker.leases);
    metrics.quarantined.set(worker.quarantineReason === undefined ? 0 : 1);
    metrics.storeDown.set(worker.storeBreaker.isOpen ? 1 : 0);
    metrics.outputsPending.set(worker.storeBreaker.pendingBytes);
    // Without those that models.yaml no longer names.
    metrics.modelAvailable.reset();
    metrics.modelFusions.reset();
    for (const { ref, graphs } of worker.models) {
      const [model, version] = ref.split('@');
      metrics.modelAvailable.set({ model, version }, graphs ? 1 : 0);
      for (const { graph, fusion } of graphs ?? [])
        if (fusion) showFusions(metrics, { model, version, graph }, fusion);
    }
    metrics.modelMemory.reset();
    for (const { ref, state, bytes } of worker.residentModels) {
      const [model, version] = ref.split('@');
      if (state === 'loaded') metrics.modelMemory.set({ model, version }, bytes);
    }
    metrics.waveformBytes.set(worker.waveformBytes);
    metrics.jobsWithoutInput.set(worker.jobsWithoutInput);
    metrics.pausedSamples.set(worker.pausedSamples);
  });
}

/** Each operator has a value for both forms. */
export function showFusions(
  { modelFusions }: Pick<Metrics<'worker'>, 'modelFusions'>,
  labels: { model: string; version: string; graph: string },
  { attentions, left, cuda }: Fusion,
): void {
  const show = (operator: string, fused: number, exported: number): void => {
    modelFusions.set({ ...labels, operator, form: 'fused' }, fused);
    modelFusions.set({ ...labels, operator, form: 'exported' }, exported);
  };
  const exported = Object.values(left).reduce((sum, count) => sum + count, 0);
  if (attentions + exported > 0) show('MultiHeadAttention', attentions, exported);
  const { operators = {}, left: refused = {}, problem } = cuda ?? {};
  const refusals = Object.values(refused);
  for (const operator of new Set([...Object.keys(operators), ...refusals])) {
    const count = operators[operator] ?? 0;
    if (problem === undefined) show(operator, count, refusals.filter((each) => each === operator).length);
    else show(operator, 0, count);
  }
}

/** It measures from its first tick on. */
export function startEventLoopMonitor(): IntervalHistogram {
  const monitor = monitorEventLoopDelay({ resolution: EVENT_LOOP_TICK_MS });
  monitor.enable();
  return monitor;
}

/** Each scrape shows the delays since the one before. */
export function showEventLoopDelay(
  { eventLoopDelay }: Pick<Metrics<'worker'>, 'eventLoopDelay'>,
  page: MetricsPage,
  ticks: Pick<IntervalHistogram, 'percentile' | 'reset'>,
): void {
  page.beforeScrape(async () => {
    // A scrape that waited through a pause is answered before the timer of the monitor has seen it, and the reset would drop it.
    await systemClock.sleep(2 * EVENT_LOOP_TICK_MS);
    for (const quantile of [0.5, 0.99, 1]) {
      // The time between two ticks: that of the timer is no delay.
      const tickMs = ticks.percentile(quantile * 100) / 1e6;
      eventLoopDelay.set({ quantile: String(quantile) }, Math.max(0, tickMs - EVENT_LOOP_TICK_MS) / 1000);
    }
    ticks.reset();
  });
}

function labelsOfQueue(queue: string): { model: string; version: string } {
  const group = parseGroupQueueName(queue);
  return { model: group?.model.name ?? 'unknown', version: group?.model.version ?? 'unknown' };
}

type Used = Pick<Metrics<'worker'>, 'requests' | 'queueTime' | 'upload'>;

/** What this worker has counted since its start, for the picture of the traffic (GET /v1/traffic). */
export async function workerCounts({ requests, queueTime, upload }: Used): Promise<Counts> {
  const counts: Counts = {};
  await addCounter(counts, requests, (labels) => `ended${modelSuffix(labels)}`);
  await addCounter(counts, requests, (labels) =>
    labels.outcome === 'failed' ? `failed${modelSuffix(labels)}` : undefined,
  );
  await addHistogram(counts, queueTime, 'claimed', modelSuffix);
  await addHistogram(counts, upload, 'stored');
  return counts;
}
