/** Variables of every program: the installation, Redis, logs, models, traces, and the object store of API and workers. */
import { z } from 'zod';
import { TRACING_ENV } from '../../base/tracing/variables.ts';

/** Marks a variable whose value must never be printed. */
export const SECRET = { secret: true } as const;

const number = z.coerce.number('must be a number');
export const positive = number.positive('must be more than 0');
export const whole = number.int('must be a whole number');
export const port = whole.min(0, 'must be 0 to 65535').max(65_535, 'must be 0 to 65535');
const flag = z.stringbool({ error: 'must be true or false' });
export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' });

const SENTINELS = /^[^\s,:@/]+(:\d{1,5})?(,[^\s,:@/]+(:\d{1,5})?)*$/;

export const COMMON_ENV = {
  LEHR_HOME: z
    .string()
    .default('.lehr')
    .meta({ description: 'Folder of the local installation: secrets, the Redis log, stored outputs.' }),
  LEHR_REDIS_URL: z
    .url({ protocol: /^rediss?$/, error: 'must be a redis:// or rediss:// URL' })
    .refine((url) => SENTINELS.test(new URL(url).searchParams.get('sentinels') ?? 'none'), {
      error: 'must have host:port of each Sentinel in sentinels=, with commas',
    })
    .default('redis://127.0.0.1:6379')
    .meta({
      description:
        'Redis 6.2 or newer, with `maxmemory-policy noeviction`. Sentinels and TLS: [Operating](operating.md#redis-of-your-own). If it is not set, `npm start` starts its own Redis.',
      ...SECRET,
    }),
  LEHR_NAMESPACE: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be lower-case letters, digits and dashes')
    .default('lehr')
    .meta({ description: 'Prefix of every Redis key, so that several installations can share a server.' }),
  LEHR_LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .meta({ description: 'The lowest level that is logged. Logs are JSON lines.' }),
  LEHR_LOG_PROMPTS: flag.default(false).meta({
    description:
      "Log prompts in clear, in the worker's line `job started`. Off: only their length and a short hash.",
  }),
  LEHR_MODELS: z.string().optional().meta({
    description:
      'Path of models.yaml. Default: `models.yaml` in LEHR_HOME if it exists, else the demo models that ship with Lehr.',
  }),
  LEHR_POOLS: z.string().optional().meta({
    description:
      'Path of pools.yaml: the pools of workers, and how each is scaled ([Scaling](scaling.md)). Not set: one pool of all models.',
  }),
  LEHR_MODEL_CACHE: z
    .string()
    .optional()
    .meta({ description: 'Folder of fetched models. Default: the folder `models` in LEHR_HOME.' }),
  LEHR_MODEL_CACHE_GB: positive.optional().meta({
    description:
      'Size above which models that models.yaml does not name are removed from this folder, the one used longest ago first. Not set: none is removed.',
  }),
  ...TRACING_ENV,
  HF_ENDPOINT: httpUrl.default('https://huggingface.co').meta({
    description: 'The hub that models are fetched from: the one of Hugging Face, or a mirror.',
  }),
  HF_TOKEN: z
    .string()
    .optional()
    .meta({ description: 'Token for private and gated repositories of the hub.', ...SECRET }),
} as const;

export const STORE_ENV = {
  LEHR_STORE_SECRET: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .meta({
      description:
        'Signs links to stored outputs and to event streams; the same for every API process. Default: generated in LEHR_HOME.',
      ...SECRET,
    }),
  LEHR_S3_BUCKET: z.string().min(3, 'must have at least 3 characters').optional().meta({
    description:
      'Bucket for inputs and outputs; all processes need the same one. Not set: a folder in LEHR_HOME, for the processes of one machine.',
  }),
  AWS_REGION: z.string().default('us-east-1').meta({ description: 'Region of the bucket.' }),
  AWS_ENDPOINT_URL_S3: httpUrl.optional().meta({ description: 'An S3 server other than AWS.' }),
  LEHR_S3_PUBLIC_ENDPOINT: httpUrl.optional().meta({
    description:
      'The URL by which callers reach the S3 server, where it is not that of Lehr (`AWS_ENDPOINT_URL_S3`); links are signed for it.',
  }),
} as const;
