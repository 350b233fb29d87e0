/**
 * Every environment variable of Lehr, once: the API, the worker and the launcher read the part they need, and the
 * README's table is made from here (test/house/readme.test.ts holds the two together).
 */
import { z } from 'zod';
import { SECRET } from './config.ts';

const port = z.coerce.number().int().min(0).max(65535);
const flag = z.stringbool();
const positive = z.coerce.number().positive();
const whole = z.coerce.number().int();

export const ENV = {
  LEHR_HOME: z
    .string()
    .default('.lehr')
    .meta({ description: 'Folder of the local installation: the key, the Redis log, stored pictures.' }),
  LEHR_REDIS_URL: z
    .url({ protocol: /^rediss?$/ })
    .default('redis://127.0.0.1:6379')
    .meta({
      description: 'Redis 6.2 or newer, set to noeviction. `npm start` runs its own when this is absent.',
      ...SECRET,
    }),
  LEHR_NAMESPACE: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be lower-case letters, digits and dashes')
    .default('lehr')
    .meta({ description: 'Prefix of every Redis key, so that installations can share a server.' }),
  LEHR_LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .meta({ description: 'How much is logged, as JSON lines.' }),
  LEHR_LOG_PROMPTS: flag
    .default(false)
    .meta({ description: 'Log prompts in clear. Off: they never reach a log.' }),
  LEHR_MODELS: z
    .string()
    .optional()
    .meta({ description: 'Path of models.yaml. Absent: the demo models that ship with Lehr.' }),

  LEHR_HOST: z.string().default('127.0.0.1').meta({
    description: 'Address the API listens on. Anything but loopback needs LEHR_API_KEY.',
  }),
  LEHR_PORT: port.default(8080).meta({ description: 'Port of the API.' }),
  LEHR_PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({ description: 'Where callers reach the API; links are built from it. Absent: http://host:port.' }),
  LEHR_API_KEY: z
    .string()
    .min(20, 'must have at least 20 characters')
    .optional()
    .meta({
      description: 'The key callers send as a bearer token. Absent: one is made at the first start.',
      ...SECRET,
    }),
  LEHR_KEY_PEPPER: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .meta({
      description:
        'Keys are stored as digests made with it; the same for every API. Absent: made under LEHR_HOME.',
      ...SECRET,
    }),
  LEHR_MAX_WAIT_S: positive.default(600).meta({
    description: 'A job that would wait longer than this is refused with 503.',
  }),
  LEHR_MAX_UPLOAD_MB: positive.default(25).meta({
    description: 'Megabytes of one audio file, uploaded or fetched.',
  }),
  LEHR_HOLD_S: positive.max(280).default(120).meta({
    description:
      'Seconds that the OpenAI routes and /t2i hold an answer for its job; at most 280, since clients give up at 300.',
  }),
  LEHR_ROLES: z
    .string()
    .regex(/^(http|webhooks)(,(http|webhooks))*$/, 'must be http, webhooks or both with a comma')
    .default('http,webhooks')
    .meta({ description: 'What this API process does: answer callers, deliver webhooks, or both.' }),
  LEHR_SECRET_KEY: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .meta({
      description:
        'Seals the webhook secrets in Redis; the same for every API. Absent: made under LEHR_HOME.',
      ...SECRET,
    }),
  LEHR_EGRESS_ALLOW: z.string().optional().meta({
    description:
      'Private hosts and ranges that webhooks and inputs by URL may lead to, with commas: `10.1.0.0/16,hooks.internal`. Never covers metadata services.',
  }),
  LEHR_WEBHOOK_ALLOW_PRIVATE: flag.default(false).meta({
    description:
      'For tests and development: lets webhooks and inputs by URL lead to any private address, over plain http.',
  }),
  LEHR_RECORD_TTL_H: positive.default(24).meta({ description: 'Hours a finished job can be asked for.' }),
  LEHR_OUTPUT_TTL_H: positive.default(168).meta({ description: 'Hours a stored output is kept.' }),
  LEHR_LINK_TTL_S: whole
    .min(10)
    .max(604_800)
    .default(900)
    .meta({ description: 'Seconds an output link can be read; every answer carries fresh ones.' }),

  LEHR_STORE: z.enum(['folder', 's3']).default('folder').meta({ description: 'Where outputs are stored.' }),
  LEHR_STORE_SECRET: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .meta({
      description:
        'Signs links to stored outputs and to event streams; the same for every API. Absent: made under LEHR_HOME.',
      ...SECRET,
    }),
  LEHR_S3_BUCKET: z.string().min(3).optional().meta({ description: 'Bucket of the S3 store.' }),
  LEHR_S3_REGION: z.string().default('us-east-1').meta({ description: 'Region of the bucket.' }),
  LEHR_S3_ENDPOINT: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({ description: 'An S3 server other than AWS.' }),
  LEHR_S3_PUBLIC_ENDPOINT: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      description: 'The name callers reach that server by, when it is another one; links are signed for it.',
    }),

  LEHR_DEVICE: z.enum(['auto', 'cuda', 'tensorrt', 'webgpu', 'cpu']).default('auto').meta({
    description: 'Where graphs run. `auto` takes the best there is; any other is refused if it is not there.',
  }),
  LEHR_TASKS: z
    .string()
    .regex(/^(diffusion|whisper)(,(diffusion|whisper))*$/, 'must be diffusion, whisper or both with a comma')
    .default('diffusion,whisper')
    .meta({ description: 'Which tasks this worker serves.' }),
  LEHR_ROW_CAP: z
    .union([z.literal('auto'), whole.min(1).max(256)])
    .default('auto')
    .meta({ description: 'Rows of one UNet batch at most; `auto` measures where more stops paying.' }),
  LEHR_THREADS: whole
    .min(1)
    .optional()
    .meta({ description: 'Threads of a graph run on the CPU. Absent: all cores.' }),
  LEHR_WORKER_PORT: port
    .default(9464)
    .meta({ description: "Port of the worker's /metrics and /healthz; 0 picks one." }),
  LEHR_LEASE_MS: whole
    .min(500)
    .default(30_000)
    .meta({ description: 'How long a claimed job stays with a worker that went silent.' }),
  LEHR_DRAIN_S: whole
    .min(0)
    .default(25)
    .meta({ description: 'Seconds a stopping worker may spend finishing; the rest is handed back.' }),
} as const;

/** A schema of the named variables, for readConfig. */
export function envSchema<Name extends keyof typeof ENV>(
  ...names: readonly Name[]
): z.ZodObject<Pick<typeof ENV, Name>> {
  return z.object(Object.fromEntries(names.map((name) => [name, ENV[name]])) as Pick<typeof ENV, Name>);
}
