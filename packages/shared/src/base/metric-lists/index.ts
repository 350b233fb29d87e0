/** Every metric of Lehr, in one list: dashboards, alerts and scalers are checked against it. */
import { API_METRICS } from './api.ts';
import { INFERENCE_METRICS } from './inference.ts';
import { JOB_METRICS } from './jobs.ts';
import { WORKER_METRICS } from './worker.ts';

export type { MetricApp, MetricFacts } from './facts.ts';

export const METRICS = { ...JOB_METRICS, ...API_METRICS, ...INFERENCE_METRICS, ...WORKER_METRICS } as const;
