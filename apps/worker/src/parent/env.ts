/** The configuration of a worker: the variables it reads, and the rules that go beyond one variable. */
import {
  envSchema,
  type ModelsFile,
  readSettings,
  type Settings,
  type Task,
  TRACING_VARIABLES,
} from '@lehr/shared';
import type { z } from 'zod';

export const WORKER_ENV = envSchema(
  'LEHR_HOME',
  'LEHR_REDIS_URL',
  'LEHR_NAMESPACE',
  'LEHR_LOG_LEVEL',
  ...TRACING_VARIABLES,
  'LEHR_LOG_PROMPTS',
  'LEHR_MODELS',
  'LEHR_MODEL_CACHE',
  'LEHR_MODEL_CACHE_GB',
  'HF_ENDPOINT',
  'HF_TOKEN',
  'LEHR_HOST',
  'LEHR_RECORD_TTL_H',
  'LEHR_USAGE_DAYS',
  'LEHR_S3_BUCKET',
  'AWS_REGION',
  'AWS_ENDPOINT_URL_S3',
  'LEHR_EGRESS_ALLOW',
  'LEHR_MAX_UPLOAD_MB',
  'LEHR_DEVICE',
  'LEHR_TASKS',
  'LEHR_ROW_CAP',
  'LEHR_MODEL_MEMORY_MB',
  'LEHR_THREADS',
  'LEHR_WAVEFORM_MB',
  'LEHR_WORKER_PORT',
  'LEHR_LEASE_MS',
  'LEHR_DRAIN_S',
  'LEHR_MAX_RUN_S',
  'LEHR_CHECKPOINT_STEPS',
  'AWS_EC2_METADATA_SERVICE_ENDPOINT',
);
export type WorkerConfig = z.output<typeof WORKER_ENV>;

/** Throws ConfigError with every fault of the environment and of the models file. */
export const readWorkerSettings = (
  source: Readonly<Record<string, string | undefined>>,
  defaultModels: string,
): Promise<Settings<WorkerConfig>> => readSettings(WORKER_ENV, source, { defaultModels, check: taskFaults });

export const tasksOf = ({ LEHR_TASKS }: Pick<WorkerConfig, 'LEHR_TASKS'>): readonly Task[] =>
  LEHR_TASKS.split(',') as Task[];

/** A worker without any model would never get a job. */
function taskFaults(
  { LEHR_TASKS }: Partial<WorkerConfig>,
  models: ModelsFile | undefined,
): readonly string[] {
  if (LEHR_TASKS === undefined || !models) return [];
  const tasks = tasksOf({ LEHR_TASKS });
  if (models.registry.models.some(({ task }) => tasks.includes(task))) return [];
  return [`LEHR_TASKS is "${LEHR_TASKS}": ${models.path} has no model of this task`];
}
