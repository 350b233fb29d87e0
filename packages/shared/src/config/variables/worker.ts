/** Variables of the worker. */
import { z } from 'zod';
import { TASKS } from '../../contracts/group.ts';
import { httpUrl, port, positive, whole } from './every-program.ts';

export const WORKER_ENV = {
  LEHR_DEVICE: z.enum(['auto', 'cuda', 'tensorrt', 'webgpu', 'cpu']).default('auto').meta({
    description:
      'The device that runs the models. `auto` takes the best one there is; a named device that is missing is an error.',
  }),
  LEHR_TASKS: z
    .string()
    .regex(
      new RegExp(`^(${TASKS.join('|')})(,(${TASKS.join('|')}))*$`),
      `must be one of ${TASKS.join(', ')}, or several of them with commas`,
    )
    .default(TASKS.join(','))
    .meta({ description: 'Which tasks this worker serves.' }),
  LEHR_ROW_CAP: z
    .union([z.literal('auto'), whole.min(1).max(256)], {
      error: 'must be auto or a whole number from 1 to 256',
    })
    .default('auto')
    .meta({
      description:
        'Most rows in one batch of pictures, of windows of speech or of texts; `auto` measures from which count on more rows gain nothing.',
    }),
  LEHR_MODEL_MEMORY_MB: positive.optional().meta({
    description:
      'Memory for the open models of a worker, in megabytes: it loads and unloads them while it runs ([Models](models.md#more-models-than-memory)). Not set: all models are open.',
  }),
  LEHR_THREADS: whole
    .min(1, 'must be at least 1')
    .optional()
    .meta({ description: 'Threads of a model that runs on the CPU. Default: all cores.' }),
  LEHR_WAVEFORM_MB: positive.default(1024).meta({
    description:
      'Memory of a worker for decoded audio, in megabytes. An hour takes 115; a file waits until there is room for the longest that its model allows.',
  }),
  LEHR_WORKER_PORT: port
    .default(9464)
    .meta({ description: "Port of the worker's /metrics and /healthz; 0 takes a free one." }),
  LEHR_LEASE_MS: whole.min(500, 'must be at least 500').default(30_000).meta({
    description: 'Milliseconds after which a job is taken from a worker that no longer renews its lease.',
  }),
  LEHR_DRAIN_S: whole.min(0, 'must be at least 0').default(25).meta({
    description:
      'Seconds that a stopping worker may spend on its running jobs; the others go back to the queue.',
  }),
  LEHR_MAX_RUN_S: positive.max(604_800, 'must be at most 604800').default(3600).meta({
    description: 'Seconds that a job may run on a worker; then it fails with `run-too-long`.',
  }),
  LEHR_CHECKPOINT_STEPS: whole.min(0, 'must be at least 0').default(5).meta({
    description:
      'Steps after which the state of an unfinished picture is stored, so that another worker can continue it. 0: never.',
  }),
  AWS_EC2_METADATA_SERVICE_ENDPOINT: httpUrl.optional().meta({
    description:
      'The EC2 metadata service, `http://169.254.169.254` on an instance. A worker drains when it announces that the instance will be taken back. Not set: it is not read.',
  }),
} as const;
