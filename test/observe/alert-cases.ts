/** For each alert: series that must make it fire, and series that look similar and must not. Series as promtool writes them. */

export interface AlertCase {
  readonly fires: Readonly<Record<string, string>>;
  readonly quiet: Readonly<Record<string, string>>;
  /** When both are evaluated. */
  readonly at: string;
  /** How often the series have a value and the rules are evaluated; 1 minute without it. */
  readonly every?: '10m' | '30m';
}

/** Interactive jobs that start: all of them, and those within the target, per interval. */
const starts = (all: number, inTime: number, values: number) => ({
  'lehr_queue_time_seconds_count{class="interactive"}': `0+${all}x${values}`,
  'lehr_queue_time_seconds_bucket{class="interactive",le="10"}': `0+${inTime}x${values}`,
});

/** Ends of jobs per interval: those that succeeded, and those that failed by fault of the service and of the caller. */
const ends = (succeeded: number, service: number, caller: number, values: number) => ({
  'lehr_requests_total{outcome="succeeded"}': `0+${succeeded}x${values}`,
  'lehr_requests_total{outcome="failed"}': `0+${service + caller}x${values}`,
  'lehr_job_failures_total{fault="service"}': `0+${service}x${values}`,
  'lehr_job_failures_total{fault="caller"}': `0+${caller}x${values}`,
});

const OF_MODEL = 'model="sd",version="1"';

const OBJECTIVE_CASES: Readonly<Record<string, AlertCase>> = {
  LehrJobsStartLateFast: { at: '70m', fires: starts(100, 20, 80), quiet: starts(100, 40, 80) },
  LehrJobsStartLateSlow: {
    at: '7h',
    every: '10m',
    fires: starts(100, 60, 45),
    quiet: starts(100, 75, 45),
  },
  LehrJobsStartLateSteadily: {
    at: '80h',
    every: '30m',
    fires: starts(100, 90, 170),
    quiet: starts(100, 97, 170),
  },
  LehrJobsFailFast: { at: '70m', fires: ends(980, 20, 0, 80), quiet: ends(900, 5, 95, 80) },
  LehrJobsFailSlow: {
    at: '7h',
    every: '10m',
    fires: ends(990, 10, 0, 45),
    quiet: ends(900, 3, 97, 45),
  },
  LehrJobsFailSteadily: {
    at: '80h',
    every: '30m',
    fires: ends(9970, 30, 0, 170),
    quiet: ends(9000, 5, 995, 170),
  },
};

const SERVICE_CASES: Readonly<Record<string, AlertCase>> = {
  LehrApiDown: {
    at: '5m',
    fires: { 'up{job="lehr-api",instance="a"}': '0x10', 'up{job="lehr-api",instance="b"}': '0x10' },
    quiet: { 'up{job="lehr-api",instance="a"}': '0x10', 'up{job="lehr-api",instance="b"}': '1x10' },
  },
  LehrRedisDown: {
    at: '5m',
    fires: { 'lehr_redis_up{instance="a"}': '1x10', 'lehr_redis_up{instance="b"}': '0x10' },
    quiet: { 'lehr_redis_up{instance="a"}': '1 1 1 0 1 1 1' },
  },
  LehrRedisDropped: {
    at: '1m',
    fires: { lehr_redis_dropped_commands: '0 2970 2970' },
    quiet: { lehr_redis_dropped_commands: '0x5' },
  },
  LehrRedisFull: {
    at: '10m',
    fires: { lehr_redis_memory_ratio: '0.78x12' },
    quiet: { lehr_redis_memory_ratio: '0.72x12' },
  },
  LehrStoreDown: {
    at: '10m',
    fires: { 'lehr_store_down{instance="a"}': '0x12', 'lehr_store_down{instance="b"}': '1x12' },
    quiet: { 'lehr_store_down{instance="a"}': '0x12' },
  },
  LehrApiFails: {
    at: '20m',
    fires: {
      'lehr_http_requests_total{status="200"}': '0+98x25',
      'lehr_http_requests_total{status="500"}': '0+2x25',
    },
    quiet: {
      'lehr_http_requests_total{status="200"}': '0+50x25',
      'lehr_http_requests_total{status="503"}': '0+50x25',
    },
  },
  LehrRequestsWait: {
    at: '15m',
    fires: { lehr_waiting_requests: '150x20' },
    quiet: { lehr_waiting_requests: '150x5 3x15' },
  },
  LehrRecordsUnreadable: {
    at: '20m',
    fires: { lehr_unreadable: '2x25' },
    quiet: { lehr_unreadable: '0x25' },
  },
};

const FLEET_CASES: Readonly<Record<string, AlertCase>> = {
  LehrNoWorker: {
    at: '10m',
    fires: {
      [`lehr_queue_jobs{${OF_MODEL},state="queued"}`]: '5x12',
      [`lehr_workers{${OF_MODEL},draining="false"}`]: '0x12',
      'lehr_workers{model="other",version="1",draining="false"}': '3x12',
      [`lehr_model_paused{${OF_MODEL}}`]: '0x12',
    },
    quiet: {
      'lehr_queue_jobs{model="held",version="1",state="queued"}': '5x12',
      'lehr_model_paused{model="held",version="1"}': '1x12',
      [`lehr_queue_jobs{${OF_MODEL},state="queued"}`]: '5x12',
      [`lehr_workers{${OF_MODEL},draining="false"}`]: '1x12',
    },
  },
  LehrQueueStands: {
    at: '10m',
    fires: {
      [`lehr_queue_oldest_job_age_seconds{${OF_MODEL}}`]: '2000+60x12',
      [`lehr_model_paused{${OF_MODEL}}`]: '0x12',
    },
    quiet: {
      [`lehr_queue_oldest_job_age_seconds{${OF_MODEL}}`]: '100+60x12',
      'lehr_queue_oldest_job_age_seconds{model="held",version="1"}': '2000+60x12',
      'lehr_model_paused{model="held",version="1"}': '1x12',
    },
  },
  LehrWorkerDown: {
    at: '10m',
    fires: { 'up{job="lehr-worker",instance="w1"}': '0x12' },
    quiet: { 'up{job="lehr-worker",instance="w1"}': '0x3 1x9' },
  },
  LehrWorkerQuarantined: {
    at: '5m',
    fires: { 'lehr_worker_quarantined{instance="w1"}': '1x8' },
    quiet: { 'lehr_worker_quarantined{instance="w1"}': '0x8' },
  },
  LehrModelUnavailable: {
    at: '20m',
    fires: { [`lehr_model_available{${OF_MODEL},instance="w1"}`]: '0x25' },
    quiet: { [`lehr_model_available{${OF_MODEL},instance="w1"}`]: '0x10 1x15' },
  },
  LehrRolledBack: {
    at: '20m',
    fires: { 'lehr_rollout_decisions_total{model="sd",action="rolled-back"}': '0x10 1x20' },
    quiet: {
      'lehr_rollout_decisions_total{model="sd",action="rolled-back"}': '1x30',
      'lehr_rollout_decisions_total{model="sd",action="promoted"}': '0x10 1x20',
    },
  },
  LehrEngineRestarts: {
    at: '40m',
    fires: { 'lehr_engine_restarts_total{instance="w1",reason="SIGSEGV"}': '0+1x45' },
    quiet: { 'lehr_engine_restarts_total{instance="w1",reason="SIGSEGV"}': '0x20 1x25' },
  },
  LehrLeasesLost: {
    at: '40m',
    fires: { 'lehr_leases_lost_total{instance="w1"}': '0+1x45' },
    quiet: { 'lehr_leases_lost_total{instance="w1"}': '0x20 2x25' },
  },
};

const OTHER_CASES: Readonly<Record<string, AlertCase>> = {
  LehrWebhooksFail: {
    at: '50m',
    fires: {
      'lehr_webhook_attempts_total{outcome="2xx"}': '0+2x55',
      'lehr_webhook_attempts_total{outcome="timeout"}': '0+8x55',
    },
    quiet: {
      'lehr_webhook_attempts_total{outcome="2xx"}': '0+8x55',
      'lehr_webhook_attempts_total{outcome="5xx"}': '0+2x55',
    },
  },
  LehrWebhooksPile: {
    at: '15m',
    fires: { 'lehr_webhooks_pending{stage="outbox"}': '2000x20' },
    quiet: {
      'lehr_webhooks_pending{stage="outbox"}': '10x20',
      'lehr_webhooks_pending{stage="delivery"}': '2000x20',
    },
  },
  LehrCardFault: {
    at: '5m',
    fires: { 'DCGM_FI_DEV_XID_ERRORS{instance="n1",gpu="0"}': '79x8' },
    quiet: { 'DCGM_FI_DEV_XID_ERRORS{instance="n1",gpu="0"}': '0x8' },
  },
  LehrCardHot: {
    at: '15m',
    fires: { 'DCGM_FI_DEV_GPU_TEMP{instance="n1",gpu="0"}': '90x20' },
    quiet: { 'DCGM_FI_DEV_GPU_TEMP{instance="n1",gpu="0"}': '80x20' },
  },
};

export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  ...OBJECTIVE_CASES,
  ...SERVICE_CASES,
  ...FLEET_CASES,
  ...OTHER_CASES,
};
