/**
 * What Lehr promises its callers, as two objectives, and the alerts that follow from them. An alert looks at how fast the error budget
 * burns in a long and in a short window: the long one ignores short disturbances, the short one ends the alert soon after its cause has
 * gone (Google, The Site Reliability Workbook, chapter 5, "Alerting on SLOs").
 */
import type { Alert, Recording } from './alerts.ts';

interface Objective {
  /** In the names of its recorded queries. */
  readonly name: string;
  readonly alert: Alert['alert'];
  readonly title: string;
  /** The share of jobs that may be bad. */
  readonly budget: number;
  /** PromQL of the bad jobs per second in a window such as `5m`. */
  readonly bad: (window: string) => string;
  /** PromQL of all jobs per second that the objective is about. */
  readonly all: (window: string) => string;
}

/** Seconds in which an interactive job should start: one of the buckets of lehr_queue_time_seconds. */
const START_TARGET_S = 10;
const STARTS = 'lehr_queue_time_seconds';

export const OBJECTIVES: readonly Objective[] = [
  {
    name: 'late_starts',
    alert: 'LehrJobsStartLate',
    title: `95 % of interactive jobs start within ${START_TARGET_S} s.`,
    budget: 0.05,
    bad: (window) =>
      `sum(rate(${STARTS}_count{class="interactive"}[${window}]))` +
      ` - sum(rate(${STARTS}_bucket{class="interactive",le="${START_TARGET_S}"}[${window}]))`,
    all: (window) => `sum(rate(${STARTS}_count{class="interactive"}[${window}]))`,
  },
  {
    name: 'failed_jobs',
    alert: 'LehrJobsFail',
    title: '99.9 % of accepted jobs succeed, or end by the will or the fault of their caller.',
    budget: 0.001,
    // A kind of end that never happened has no series, which must count as 0.
    bad: (window) =>
      `(sum(rate(lehr_job_failures_total{fault="service"}[${window}])) or vector(0))` +
      ` + (sum(rate(lehr_requests_total{outcome="expired"}[${window}])) or vector(0))`,
    all: (window) =>
      `sum(rate(lehr_requests_total{outcome=~"succeeded|failed|canceled|expired"}[${window}]))`,
  },
];

interface BurnAlert {
  readonly suffix: string;
  readonly long: string;
  readonly short: string;
  /** How many times faster than allowed the budget burns: 1 uses it up in exactly the 30 days of the objective. */
  readonly rate: number;
  readonly severity: Alert['severity'];
}

/** The windows and rates that the workbook recommends: 2 % of the budget in an hour, 5 % in six hours, 10 % in three days. */
const BURN_ALERTS: readonly BurnAlert[] = [
  { suffix: 'Fast', long: '1h', short: '5m', rate: 14.4, severity: 'page' },
  { suffix: 'Slow', long: '6h', short: '30m', rate: 6, severity: 'page' },
  { suffix: 'Steadily', long: '3d', short: '6h', rate: 1, severity: 'ticket' },
];

const recordName = ({ name }: Objective, window: string): string => `lehr:${name}:ratio_rate${window}`;

export function objectiveRecordings(): Recording[] {
  const windows = [...new Set(BURN_ALERTS.flatMap(({ long, short }) => [short, long]))];
  return OBJECTIVES.flatMap((objective) =>
    windows.map((window) => ({
      record: recordName(objective, window),
      expr: `(${objective.bad(window)}) / (${objective.all(window)})`,
    })),
  );
}

export function objectiveAlerts(): Alert[] {
  return OBJECTIVES.flatMap((objective) => BURN_ALERTS.map((burn) => burnAlert(objective, burn)));
}

function burnAlert(objective: Objective, { suffix, long, short, rate, severity }: BurnAlert): Alert {
  // Six digits, because 14.4 * 0.05 has more as a double.
  const limit = Number((rate * objective.budget).toFixed(6));
  return {
    alert: `${objective.alert}${suffix}`,
    expr: `${recordName(objective, long)} > ${limit} and ${recordName(objective, short)} > ${limit}`,
    for: '2m',
    severity,
    summary:
      `${objective.title} In the last ${long}, {{ $value | humanizePercentage }} did not: ` +
      `${rate} times as many as allowed, or more.`,
  };
}
