/** The alerts of Lehr beside those of its objectives. docs/alerts.md has a section for each alert, and test/observe makes each of them fire. */

/** A query whose result Prometheus stores under a new name. */
export interface Recording {
  readonly record: string;
  readonly expr: string;
}

export interface Alert {
  readonly alert: `Lehr${string}`;
  readonly expr: string;
  /** How long the query must give a result before the alert fires. */
  readonly for: `${number}${'m' | 'h'}`;
  /** `page` wakes a person, `ticket` waits for working hours. */
  readonly severity: 'page' | 'ticket';
  /** One line; `{{ $labels.x }}` and `{{ $value }}` are filled in by Prometheus. */
  readonly summary: string;
}

/** Of processes: these are the names of the scrape jobs in prometheus.yaml. */
const API = 'job="lehr-api"';
const WORKER = 'job="lehr-worker"';

const SERVICES: readonly Alert[] = [
  {
    alert: 'LehrApiDown',
    expr: `sum(up{${API}}) == 0 or absent(up{${API}})`,
    for: '1m',
    severity: 'page',
    summary: 'No API process answers: jobs are neither accepted nor shown.',
  },
  {
    alert: 'LehrRedisDown',
    expr: 'min(lehr_redis_up) == 0',
    for: '1m',
    severity: 'page',
    summary: 'An API process cannot reach Redis. Callers get 503; accepted jobs wait.',
  },
  {
    alert: 'LehrRedisDropped',
    expr: 'max(lehr_redis_dropped_commands) > 0',
    for: '0m',
    severity: 'page',
    summary:
      'Redis dropped {{ $value }} commands of its log: jobs, keys and secrets are missing. Act before it rewrites the log.',
  },
  {
    alert: 'LehrRedisFull',
    expr: 'max(lehr_redis_memory_ratio) > 0.75',
    for: '5m',
    severity: 'page',
    summary:
      'Redis uses {{ $value | humanizePercentage }} of its memory. From 70 % on, ended jobs of the largest tenants are removed; ' +
      'from 80 % on, no job is accepted.',
  },
  {
    alert: 'LehrStoreDown',
    expr: 'max(lehr_store_down) == 1',
    for: '2m',
    severity: 'page',
    summary: 'A worker claims no jobs because the object store takes no writes.',
  },
  {
    alert: 'LehrApiFails',
    expr:
      'sum(rate(lehr_http_requests_total{status=~"5..",status!="503"}[10m])) / ' +
      'sum(rate(lehr_http_requests_total[10m])) > 0.01',
    for: '5m',
    severity: 'page',
    summary: '{{ $value | humanizePercentage }} of HTTP requests end in an internal error.',
  },
  {
    alert: 'LehrRequestsWait',
    expr: 'max(lehr_waiting_requests) > 100',
    for: '10m',
    severity: 'ticket',
    summary: '{{ $value }} requests of some caller wait for their turn in one API process.',
  },
  {
    alert: 'LehrRecordsUnreadable',
    expr: 'max(lehr_unreadable) > 0',
    for: '15m',
    severity: 'ticket',
    summary: '{{ $value }} records in Redis cannot be read by a running process.',
  },
];

const FLEET: readonly Alert[] = [
  {
    alert: 'LehrNoWorker',
    expr:
      'max by (model, version) (lehr_queue_jobs{state="queued"}) > 0 unless on (model, version) ' +
      '((max by (model, version) (lehr_workers{draining="false"}) > 0) or (max by (model, version) (lehr_model_paused) == 1))',
    for: '5m',
    severity: 'page',
    summary: '{{ $value }} jobs wait for {{ $labels.model }}@{{ $labels.version }}, and no worker serves it.',
  },
  {
    alert: 'LehrQueueStands',
    expr:
      'max by (model, version) (lehr_queue_oldest_job_age_seconds) > 1800 unless on (model, version) ' +
      '(max by (model, version) (lehr_model_paused) == 1)',
    for: '5m',
    severity: 'ticket',
    summary:
      'The oldest job of {{ $labels.model }}@{{ $labels.version }} has waited for {{ $value | humanizeDuration }}.',
  },
  {
    alert: 'LehrWorkerDown',
    expr: `up{${WORKER}} == 0`,
    for: '5m',
    severity: 'ticket',
    summary: 'The worker at {{ $labels.instance }} does not answer.',
  },
  {
    alert: 'LehrWorkerQuarantined',
    expr: 'lehr_worker_quarantined == 1',
    for: '2m',
    severity: 'ticket',
    summary:
      'The worker at {{ $labels.instance }} claims no jobs because its engine failed one job after the other.',
  },
  {
    alert: 'LehrModelUnavailable',
    expr: 'lehr_model_available == 0',
    for: '15m',
    severity: 'ticket',
    summary: 'The worker at {{ $labels.instance }} cannot open {{ $labels.model }}@{{ $labels.version }}.',
  },
  {
    alert: 'LehrRolledBack',
    expr: 'sum by (model) (increase(lehr_rollout_decisions_total{action="rolled-back"}[1h])) > 0',
    for: '1m',
    severity: 'ticket',
    summary:
      'Lehr has rolled back the new version of {{ $labels.model }} because its jobs failed more often or took longer.',
  },
  {
    alert: 'LehrEngineRestarts',
    expr: 'increase(lehr_engine_restarts_total[30m]) > 3',
    for: '1m',
    severity: 'ticket',
    summary:
      'The engine at {{ $labels.instance }} was restarted {{ $value | humanize }} times in half an hour ({{ $labels.reason }}).',
  },
  {
    alert: 'LehrLeasesLost',
    expr: 'sum by (instance) (increase(lehr_leases_lost_total[30m])) > 5',
    for: '1m',
    severity: 'ticket',
    summary:
      'The worker at {{ $labels.instance }} lost {{ $value | humanize }} leases in half an hour: its jobs run twice.',
  },
];

const WEBHOOKS: readonly Alert[] = [
  {
    alert: 'LehrWebhooksFail',
    expr:
      'sum(rate(lehr_webhook_attempts_total{outcome=~"timeout|unreachable|5xx"}[30m])) / ' +
      'sum(rate(lehr_webhook_attempts_total[30m])) > 0.5',
    for: '15m',
    severity: 'ticket',
    summary: '{{ $value | humanizePercentage }} of the attempts to deliver a webhook fail.',
  },
  {
    alert: 'LehrWebhooksPile',
    expr: 'max(lehr_webhooks_pending{stage="outbox"}) > 1000',
    for: '10m',
    severity: 'ticket',
    summary: '{{ $value }} events wait in the outbox: API processes cannot send them as fast as jobs end.',
  },
];

/** Metrics of NVIDIA's dcgm-exporter. */
const CARDS: readonly Alert[] = [
  {
    alert: 'LehrCardFault',
    expr: 'max by (instance, gpu) (DCGM_FI_DEV_XID_ERRORS) > 0',
    for: '1m',
    severity: 'ticket',
    summary: 'Card {{ $labels.gpu }} at {{ $labels.instance }} reports Xid {{ $value }}.',
  },
  {
    alert: 'LehrCardHot',
    expr: 'max by (instance, gpu) (DCGM_FI_DEV_GPU_TEMP) > 85',
    for: '10m',
    severity: 'ticket',
    summary: 'Card {{ $labels.gpu }} at {{ $labels.instance }} has {{ $value }} °C.',
  },
];

export interface AlertGroup {
  readonly name: string;
  readonly alerts: readonly Alert[];
}

export const ALERT_GROUPS: readonly AlertGroup[] = [
  { name: 'lehr-services', alerts: SERVICES },
  { name: 'lehr-fleet', alerts: FLEET },
  { name: 'lehr-webhooks', alerts: WEBHOOKS },
  { name: 'lehr-cards', alerts: CARDS },
];
