/** The worker and its engine process. */
import type { MetricFacts } from './facts.ts';

export const WORKER_METRICS = {
  workerInfo: {
    name: 'lehr_worker_info',
    kind: 'gauge',
    help: 'Always 1: which worker this is and where its graphs run.',
    apps: ['worker'],
    labels: ['worker', 'device'],
  },
  modelAvailable: {
    name: 'lehr_model_available',
    kind: 'gauge',
    help: 'Whether this worker has the model open (1), or could not open it (0).',
    apps: ['worker'],
    labels: ['model', 'version'],
  },
  modelsFileProblem: {
    name: 'lehr_models_file_problem',
    kind: 'gauge',
    help: 'Whether models.yaml has changed and cannot be used (1), so that the earlier one is in force.',
    apps: ['api', 'worker'],
    labels: [],
  },
  leases: {
    name: 'lehr_leases',
    kind: 'gauge',
    help: 'Jobs that this worker holds a lease on.',
    apps: ['worker'],
    labels: [],
  },
  leasesLost: {
    name: 'lehr_leases_lost_total',
    kind: 'counter',
    help: 'Leases that this worker lost because it did not renew them in time.',
    apps: ['worker'],
    labels: [],
  },
  checkpoints: {
    name: 'lehr_checkpoints_total',
    kind: 'counter',
    help: 'Checkpoints of unfinished pictures: written, failed to be written, used to resume one, or ignored.',
    apps: ['worker'],
    labels: ['model', 'version', 'outcome'],
  },
  checkpointBytes: {
    name: 'lehr_checkpoint_bytes_total',
    kind: 'counter',
    help: 'Bytes of the checkpoints that were written.',
    apps: ['worker'],
    labels: ['model', 'version'],
  },
  engineRestarts: {
    name: 'lehr_engine_restarts_total',
    kind: 'counter',
    help: 'Restarts of the engine process, by how the last one ended.',
    apps: ['worker'],
    labels: ['reason'],
  },
  eventLoopDelay: {
    name: 'lehr_event_loop_delay_seconds',
    kind: 'gauge',
    help: "Delay of the parent process's event loop since the last scrape, by quantile (0.5, 0.99, 1).",
    apps: ['worker'],
    labels: ['quantile'],
  },
  storeDown: {
    name: 'lehr_store_down',
    kind: 'gauge',
    help: 'Whether this worker claims no jobs because the store takes no writes (1 or 0).',
    apps: ['worker'],
    labels: [],
  },
  quarantined: {
    name: 'lehr_worker_quarantined',
    kind: 'gauge',
    help: 'Whether this worker claims no jobs because its engine failed one job after the other (1 or 0).',
    apps: ['worker'],
    labels: [],
  },
  outputsPending: {
    name: 'lehr_outputs_pending_bytes',
    kind: 'gauge',
    help: 'Outputs that wait in memory to be written to the store.',
    apps: ['worker'],
    labels: [],
  },
} as const satisfies Record<string, MetricFacts>;
