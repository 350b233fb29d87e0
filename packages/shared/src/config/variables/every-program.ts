/** Variables of every program: the installation, Redis, logs, models, traces. */
import { z } from 'zod';
import { TRACING_ENV } from '../../base/tracing/variables.ts';
import { flag, httpUrl, positive, SECRET } from './kinds.ts';

export const COMMON_ENV = {
  LEHR_HOME: z
    .string()
    .default('.lehr')
    .meta({ description: 'Folder of the local installation: secrets, the Redis log, stored outputs.' }),
  LEHR_REDIS_URL: z
    .url({ protocol: /^rediss?$/, error: 'must be a redis:// or rediss:// URL' })
    .default('redis://127.0.0.1:6379')
    .meta({
      description:
        'Redis 6.2 or newer, with `maxmemory-policy noeviction`. If it is not set, `npm start` starts its own Redis.',
      ...SECRET,
    }),
  LEHR_REDIS_SENTINELS: z
    .string()
    .regex(
      /^[^\s,:@/]+(:\d{1,5})?(,[^\s,:@/]+(:\d{1,5})?)*$/,
      'must be host:port of each Sentinel, with commas',
    )
    .transform((list) => list.split(','))
    .optional()
    .meta({
      description:
        'Sentinels that name the master: `host:port` of each, with commas. The host of LEHR_REDIS_URL is then the name of the master.',
    }),
  LEHR_REDIS_SENTINEL_PASSWORD: z
    .string()
    .optional()
    .meta({ description: 'The password of the Sentinels, if they have one.', ...SECRET }),
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
