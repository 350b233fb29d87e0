/** Jobs and the fleet. */
import { type MetricFacts, WAIT_S } from './facts.ts';

export const JOB_METRICS = {
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
  jobFailures: {
    name: 'lehr_job_failures_total',
    kind: 'counter',
    help: "Failed jobs by error code, and by whose fault it was: the caller's (of the input) or the service's.",
    apps: ['worker'],
    labels: ['model', 'version', 'code', 'fault'],
  },
  requestDuration: {
    name: 'lehr_request_duration_seconds',
    kind: 'histogram',
    help: 'From the request for a job to its end.',
    apps: ['worker'],
    labels: ['model', 'version', 'outcome'],
    buckets: WAIT_S,
  },
  queueTime: {
    name: 'lehr_queue_time_seconds',
    kind: 'histogram',
    help: 'From the request for a job until a worker claimed it, by priority class.',
    apps: ['worker'],
    labels: ['model', 'version', 'class'],
    buckets: WAIT_S,
  },
  recordsRemoved: {
    name: 'lehr_records_removed_total',
    kind: 'counter',
    help: 'Ended jobs that were removed early because the jobs of their tenant filled Redis.',
    apps: ['api'],
    labels: [],
  },
  unreadable: {
    name: 'lehr_unreadable',
    kind: 'gauge',
    help: 'Jobs and workers that a process of this installation could not read.',
    apps: ['api'],
    labels: [],
  },
} as const satisfies Record<string, MetricFacts>;
