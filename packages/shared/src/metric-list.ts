/**
 * Every metric of Lehr, in one list: dashboards, alerts and scalers are checked against it. Base units; labels stay
 * few and bounded (a model and its version, never a job id).
 */

export type MetricApp = 'api' | 'worker';

export interface MetricFacts {
  readonly name: `lehr_${string}`;
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Which processes export it. Where both do, their values add up. */
  readonly apps: readonly MetricApp[];
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
}

/** From a fast claim to a job that waited ten minutes. */
const WAIT_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600] as const;
const RUN_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;
const HTTP_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;
const COUNTS = [1, 2, 4, 8, 16, 32, 64] as const;

export const METRICS = {
  queueJobs: {
    name: 'lehr_queue_jobs',
    kind: 'gauge',
    help: 'Unfinished jobs, by state (queued, running).',
    apps: ['api'],
    labels: ['model', 'version', 'state'],
  },
  queueOldestJobAge: {
    name: 'lehr_queue_oldest_job_age_seconds',
    kind: 'gauge',
    help: 'Age of the oldest waiting job; 0 when none waits.',
    apps: ['api'],
    labels: ['model', 'version'],
  },
  workers: {
    name: 'lehr_workers',
    kind: 'gauge',
    help: 'Live workers that serve the model, by whether they are draining.',
    apps: ['api'],
    labels: ['model', 'version', 'draining'],
  },
  redisUp: {
    name: 'lehr_redis_up',
    kind: 'gauge',
    help: 'Whether Redis answered this scrape (1 or 0); without it the other queue metrics are absent.',
    apps: ['api'],
    labels: [],
  },
  redisMemory: {
    name: 'lehr_redis_memory_ratio',
    kind: 'gauge',
    help: 'Share of the maxmemory of Redis in use; absent without a limit. From 0.8 on no job is accepted.',
    apps: ['api'],
    labels: [],
  },
  recordsRemoved: {
    name: 'lehr_records_removed_total',
    kind: 'counter',
    help: 'Ended jobs that were removed early because the jobs of their tenant filled Redis.',
    apps: ['api'],
    labels: [],
  },
  jobsAccepted: {
    name: 'lehr_jobs_accepted_total',
    kind: 'counter',
    help: 'Jobs that were stored and queued.',
    apps: ['api'],
    labels: ['model', 'version'],
  },
  requests: {
    name: 'lehr_requests_total',
    kind: 'counter',
    help: 'Jobs by how they ended (succeeded, failed, canceled, expired), and refused job requests.',
    apps: ['api', 'worker'],
    labels: ['model', 'version', 'outcome'],
  },
  requestDuration: {
    name: 'lehr_request_duration_seconds',
    kind: 'histogram',
    help: 'From the request for a job to its end.',
    apps: ['worker'],
    labels: ['model', 'version', 'outcome'],
    buckets: WAIT_S,
  },
  httpRequests: {
    name: 'lehr_http_requests_total',
    kind: 'counter',
    help: 'Answered HTTP requests, by route template.',
    apps: ['api'],
    labels: ['method', 'route', 'status'],
  },
  httpRequestDuration: {
    name: 'lehr_http_request_duration_seconds',
    kind: 'histogram',
    help: 'Time to answer an HTTP request; held requests include their wait.',
    apps: ['api'],
    labels: ['method', 'route'],
    buckets: HTTP_S,
  },
  webhookDeliveries: {
    name: 'lehr_webhook_deliveries_total',
    kind: 'counter',
    help: 'Finished webhook deliveries: delivered, failed (every attempt used) or gone (the receiver wants no more).',
    apps: ['api'],
    labels: ['outcome'],
  },
  webhookAttempts: {
    name: 'lehr_webhook_attempts_total',
    kind: 'counter',
    help: 'Delivery attempts, by result: 2xx, 3xx, 4xx, 5xx, timeout, unreachable, refused (by the egress rules).',
    apps: ['api'],
    labels: ['outcome'],
  },
  webhookAttemptDuration: {
    name: 'lehr_webhook_attempt_duration_seconds',
    kind: 'histogram',
    help: 'Time until a receiver answered or the attempt was given up.',
    apps: ['api'],
    labels: [],
    buckets: HTTP_S,
  },
  webhooksPending: {
    name: 'lehr_webhooks_pending',
    kind: 'gauge',
    help: 'Unfinished webhook deliveries: in the outbox, or between attempts.',
    apps: ['api'],
    labels: ['stage'],
  },
  unreadable: {
    name: 'lehr_unreadable',
    kind: 'gauge',
    help: 'Jobs and workers that a process of this installation could not read.',
    apps: ['api'],
    labels: [],
  },
  auditEntries: {
    name: 'lehr_audit_entries_total',
    kind: 'counter',
    help: 'Entries added to the audit log, by action.',
    apps: ['api'],
    labels: ['action'],
  },
  heldRequests: {
    name: 'lehr_held_requests',
    kind: 'gauge',
    help: 'Requests that wait for a job to change.',
    apps: ['api'],
    labels: [],
  },
  waitingRequests: {
    name: 'lehr_waiting_requests',
    kind: 'gauge',
    help: 'Requests that wait for their turn, because too many of their tenant or address are active.',
    apps: ['api'],
    labels: [],
  },
  eventStreams: {
    name: 'lehr_event_streams',
    kind: 'gauge',
    help: 'Open streams of job events.',
    apps: ['api'],
    labels: [],
  },

  queueTime: {
    name: 'lehr_queue_time_seconds',
    kind: 'histogram',
    help: 'From the request for a job until a worker claimed it.',
    apps: ['worker'],
    labels: ['model', 'version'],
    buckets: WAIT_S,
  },
  inferenceLoad: {
    name: 'lehr_inference_load_seconds',
    kind: 'histogram',
    help: 'Loading and warming up the graphs of a model.',
    apps: ['worker'],
    labels: ['model', 'version'],
    buckets: WAIT_S,
  },
  inferenceCompute: {
    name: 'lehr_inference_compute_seconds',
    kind: 'histogram',
    help: 'One graph run, by stage (text, denoise, decode; of speech: write, one decoder call).',
    apps: ['worker'],
    labels: ['model', 'version', 'stage'],
    buckets: RUN_S,
  },
  inferencePostprocess: {
    name: 'lehr_inference_postprocess_seconds',
    kind: 'histogram',
    help: 'Turning the pixels of one picture into a file.',
    apps: ['worker'],
    labels: ['model', 'version'],
    buckets: RUN_S,
  },
  upload: {
    name: 'lehr_upload_seconds',
    kind: 'histogram',
    help: 'Writing one output to the store, retries included.',
    apps: ['worker'],
    labels: ['model', 'version'],
    buckets: RUN_S,
  },
  batchSize: {
    name: 'lehr_batch_size',
    kind: 'histogram',
    help: 'Samples that shared one denoising call.',
    apps: ['worker'],
    labels: ['model', 'version'],
    buckets: COUNTS,
  },
  batchRows: {
    name: 'lehr_batch_rows',
    kind: 'histogram',
    help: 'Rows of one denoising call; a sample with guidance has two.',
    apps: ['worker'],
    labels: ['model', 'version'],
    buckets: COUNTS,
  },
  batches: {
    name: 'lehr_batches_total',
    kind: 'counter',
    help: 'Denoising calls.',
    apps: ['worker'],
    labels: ['model', 'version'],
  },
  images: {
    name: 'lehr_images_total',
    kind: 'counter',
    help: 'Pictures stored.',
    apps: ['worker'],
    labels: ['model', 'version'],
  },
  audioSeconds: {
    name: 'lehr_audio_seconds_total',
    kind: 'counter',
    help: 'Seconds of audio transcribed.',
    apps: ['worker'],
    labels: ['model', 'version'],
  },
  audioDecode: {
    name: 'lehr_audio_decode_seconds',
    kind: 'histogram',
    help: 'Decoding one audio file, without the wait for its turn.',
    apps: ['worker'],
    labels: [],
    buckets: RUN_S,
  },
  audioRefused: {
    name: 'lehr_audio_refused_total',
    kind: 'counter',
    help: 'Audio files that were not decoded to their end, by code (invalid-audio, too-large, unavailable).',
    apps: ['worker'],
    labels: ['code'],
  },
  waveformBytes: {
    name: 'lehr_waveform_bytes',
    kind: 'gauge',
    help: 'Memory that decoded audio takes, or may take while it is decoded; at most LEHR_WAVEFORM_MB.',
    apps: ['worker'],
    labels: [],
  },
  realTimeFactor: {
    name: 'lehr_real_time_factor',
    kind: 'histogram',
    help: 'Seconds from taking a file to its transcript, per second of audio; below 1 is faster than speech.',
    apps: ['worker'],
    labels: ['model', 'version'],
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5],
  },
  windowsPerBatch: {
    name: 'lehr_windows_per_batch',
    kind: 'histogram',
    help: 'Windows of audio that shared the decoder calls, as reported a few times a second.',
    apps: ['worker'],
    labels: ['model', 'version'],
    buckets: COUNTS,
  },
  tokens: {
    name: 'lehr_tokens_total',
    kind: 'counter',
    help: 'Tokens the decoder wrote; its rate is tokens per second.',
    apps: ['worker'],
    labels: ['model', 'version'],
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
  modelAvailable: {
    name: 'lehr_model_available',
    kind: 'gauge',
    help: 'Whether this worker has the model open (1), or could not open it (0).',
    apps: ['worker'],
    labels: ['model', 'version'],
  },
  workerInfo: {
    name: 'lehr_worker_info',
    kind: 'gauge',
    help: 'Always 1: which worker this is and where its graphs run.',
    apps: ['worker'],
    labels: ['worker', 'device'],
  },
} as const satisfies Record<string, MetricFacts>;
