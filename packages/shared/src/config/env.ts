/**
 * Every environment variable that a Lehr process reads. The API, the worker, the launcher and the doctor each take the
 * part they need, and the README's table is generated from here (npm run docs).
 */
import { z } from 'zod';
import { parseRange } from '../egress/addresses.ts';
import { parseAllowList } from '../egress/allow-list.ts';
import { TRACING_ENV } from '../tracing/variables.ts';

/** Marks a variable whose value must never be printed. */
const SECRET = { secret: true } as const;

const number = z.coerce.number('must be a number');
const positive = number.positive('must be more than 0');
const whole = number.int('must be a whole number');
const port = whole.min(0, 'must be 0 to 65535').max(65_535, 'must be 0 to 65535');
const flag = z.stringbool({ error: 'must be true or false' });
/** A contact of security.txt. */
const CONTACT = /^(?:mailto:[^\s@]+@[^\s@]+|https:\/\/\S+)$/;
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' });

export const ENV = {
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
      'Path of pools.yaml: the pools of workers, and how each is scaled ([Scaling](docs/scaling.md)). Not set: one pool of all models.',
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

  LEHR_HOST: z.string().default('127.0.0.1').meta({
    description: 'Address the API listens on. Any address but loopback requires LEHR_API_KEY.',
  }),
  LEHR_PORT: port.default(8080).meta({ description: 'Port of the API.' }),
  LEHR_OPERATIONS_PORT: port.optional().meta({
    description:
      'A separate port for `/metrics`, `/readyz` and `/admin`, which LEHR_PORT then no longer serves. Not set: LEHR_PORT serves all.',
  }),
  LEHR_OPERATIONS_HOST: z
    .string()
    .default('127.0.0.1')
    .meta({ description: 'Address of LEHR_OPERATIONS_PORT.' }),
  LEHR_MAX_CONNECTIONS: whole.min(1, 'must be at least 1').default(10_000).meta({
    description:
      'Connections that an API process holds at once; more are closed. Less where the process may open too few files.',
  }),
  LEHR_PUBLIC_URL: httpUrl.optional().meta({
    description: 'The base URL callers use; links are built from it. Default: http://host:port.',
  }),
  LEHR_TRUSTED_PROXIES: z
    .string()
    .default('')
    .transform((list) => list.split(',').flatMap((each) => each.trim() || []))
    .refine((ranges) => ranges.every((range) => parseRange(range) !== undefined), {
      error: 'must be addresses or ranges like 10.1.0.0/16, with commas',
    })
    .meta({
      description:
        'Addresses and ranges of the proxies in front of the API, with commas. Only their `X-Forwarded-For` is believed; it gives the address of a caller in the audit log.',
    }),
  LEHR_SECURITY_CONTACT: z
    .string()
    .default('')
    .transform((list) => list.split(',').flatMap((each) => each.trim() || []))
    .refine((contacts) => contacts.every((contact) => CONTACT.test(contact) && URL.canParse(contact)), {
      error: 'must be addresses like mailto:security@example.com or https://example.com/report, with commas',
    })
    .meta({
      description:
        'Where to report a weakness of this installation, in `/.well-known/security.txt`: `mailto:` or `https:` addresses, with commas. Not set: the file is a 404.',
    }),
  LEHR_API_KEY: z
    .string()
    .min(20, 'must have at least 20 characters')
    .optional()
    .meta({
      description:
        'The key callers send as a bearer token. Default: generated at the first start, in LEHR_HOME.',
      ...SECRET,
    }),
  LEHR_KEY_PEPPER: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .meta({
      description:
        'Secret of the digests that created keys are stored as; the same for every API process. Default: generated in LEHR_HOME.',
      ...SECRET,
    }),
  LEHR_KEY_PEPPER_OTHER: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .meta({
      description:
        'During a rotation of LEHR_KEY_PEPPER: the other value. Keys made with it are accepted, and stored again with LEHR_KEY_PEPPER when they are used.',
      ...SECRET,
    }),
  LEHR_MAX_WAIT_S: positive.default(600).meta({
    description: 'A job with a longer estimated wait than this is refused with 503.',
  }),
  LEHR_MAX_GROUPS: whole.min(1, 'must be at least 1').default(256).meta({
    description:
      'Groups (a model version and, for images, a size) that one tenant may use within LEHR_GROUP_IDLE_H; a job for one more is refused with 429.',
  }),
  LEHR_GROUP_IDLE_H: positive.default(1).meta({
    description:
      'Hours without a job after which a group and its keys are removed from Redis; the same for API and workers.',
  }),
  LEHR_MAX_UPLOAD_MB: positive.default(25).meta({
    description:
      'Largest file of audio or picture, uploaded or fetched, in megabytes. Pictures may have at most 32.',
  }),
  LEHR_HOLD_S: positive.max(280, 'must be at most 280').default(120).meta({
    description:
      'Seconds that the OpenAI routes and /t2i hold a request until its job has ended; at most 280, because clients time out at 300.',
  }),
  LEHR_ROLES: z
    .string()
    .regex(/^(http|webhooks)(,(http|webhooks))*$/, 'must be http, webhooks, or both with a comma')
    .default('http,webhooks')
    .meta({ description: 'What this API process does: answer requests, deliver webhooks, or both.' }),
  LEHR_SECRET_KEY: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .meta({
      description:
        'Encrypts the webhook secrets in Redis; the same for every API process. Default: generated in LEHR_HOME.',
      ...SECRET,
    }),
  LEHR_SECRET_KEY_OTHER: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .meta({
      description:
        'During a rotation of LEHR_SECRET_KEY: the other value. Secrets encrypted with it are read, and encrypted again with LEHR_SECRET_KEY.',
      ...SECRET,
    }),
  LEHR_EGRESS_ALLOW: z
    .string()
    .superRefine((list, context) => {
      try {
        parseAllowList(list);
      } catch (error) {
        context.addIssue({ code: 'custom', message: (error as Error).message });
      }
    })
    .optional()
    .meta({
      description:
        'Private hosts and address ranges that webhooks and inputs by URL may reach, with commas: `10.1.0.0/16,hooks.internal`. Metadata services stay blocked.',
    }),
  LEHR_WEBHOOK_ALLOW_PRIVATE: flag.default(false).meta({
    description:
      'For tests and development: webhooks and inputs by URL may reach any private address, over plain http.',
  }),
  LEHR_OPERATOR_WEBHOOK_URL: httpUrl.optional().meta({
    description:
      'Gets a signed webhook for every change of a [rollout](docs/rollouts.md). Guarded as webhooks of jobs are: a private address needs LEHR_EGRESS_ALLOW.',
    ...SECRET,
  }),
  LEHR_OPERATOR_WEBHOOK_SECRET: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/, 'must be whsec_ and at least 24 random bytes in base64')
    .optional()
    .meta({
      description:
        'Signs it; the same for every API process: `echo whsec_$(openssl rand -base64 32)` makes one.',
      ...SECRET,
    }),
  LEHR_PROMETHEUS_URL: httpUrl.optional().meta({
    description:
      'Base address of a Prometheus that scrapes this installation; the charts of the studio are read from it; it may have a name and a password. Not set: there are none. `npm start -- --observe` runs one.',
    ...SECRET,
  }),
  LEHR_METRICS_TENANTS: whole.min(0, 'must be 0 to 100').max(100, 'must be 0 to 100').default(0).meta({
    description:
      'Tenants that `/metrics` shows by name with what their jobs cost: those with the most cost lately; all others are one series. 0 names none, because `/metrics` needs no key.',
  }),
  LEHR_RECORD_TTL_H: positive
    .default(24)
    .meta({ description: 'Hours that the record of a finished job is kept.' }),
  LEHR_AUDIT_DAYS: positive
    .max(3650, 'must be at most 3650')
    .default(365)
    .meta({ description: 'Days that an entry of the audit log is kept.' }),
  LEHR_SESSION_H: positive
    .max(8760, 'must be at most 8760')
    .default(72)
    .meta({ description: 'Hours after which a browser must sign in to the studio again.' }),
  LEHR_OUTPUT_TTL_H: positive.default(168).meta({ description: 'Hours that a stored output is kept.' }),
  LEHR_LINK_TTL_S: whole
    .min(10, 'must be at least 10')
    .max(604_800, 'must be at most 604800')
    .default(900)
    .meta({ description: 'Seconds that a link to an output stays valid; every response has new links.' }),

  LEHR_STORE: z.enum(['folder', 's3']).default('folder').meta({ description: 'Where outputs are stored.' }),
  LEHR_STORE_SECRET: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .meta({
      description:
        'Signs links to stored outputs and to event streams; the same for every API process. Default: generated in LEHR_HOME.',
      ...SECRET,
    }),
  LEHR_S3_BUCKET: z
    .string()
    .min(3, 'must have at least 3 characters')
    .optional()
    .meta({ description: 'Bucket of the S3 store.' }),
  LEHR_S3_REGION: z.string().default('us-east-1').meta({ description: 'Region of the bucket.' }),
  LEHR_S3_ENDPOINT: httpUrl.optional().meta({ description: 'An S3 server other than AWS.' }),
  LEHR_S3_PUBLIC_ENDPOINT: httpUrl.optional().meta({
    description: 'The URL by which callers reach that server, if it is another one; links are signed for it.',
  }),

  LEHR_DEVICE: z.enum(['auto', 'cuda', 'tensorrt', 'webgpu', 'cpu']).default('auto').meta({
    description:
      'The device that runs the models. `auto` takes the best one there is; a named device that is missing is an error.',
  }),
  LEHR_TASKS: z
    .string()
    .regex(
      /^(diffusion|whisper|text)(,(diffusion|whisper|text))*$/,
      'must be diffusion, whisper or text, or several of them with commas',
    )
    .default('diffusion,whisper,text')
    .meta({ description: 'Which tasks this worker serves.' }),
  LEHR_ROW_CAP: z
    .union([z.literal('auto'), whole.min(1).max(256)], {
      error: 'must be auto or a whole number from 1 to 256',
    })
    .default('auto')
    .meta({
      description: 'Most rows in one UNet batch; `auto` measures from which count on more rows gain nothing.',
    }),
  LEHR_MODEL_MEMORY_MB: positive.optional().meta({
    description:
      'Memory for the open models of a worker, in megabytes: it loads and unloads them while it runs ([Models](docs/models.md#more-models-than-memory)). Not set: all models are open.',
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
  LEHR_CHECKPOINT_S: positive.default(10).meta({
    description: 'Seconds after which it is stored too, when steps are slow.',
  }),
  LEHR_CHECKPOINT_MB_PER_S: positive.default(8).meta({
    description: 'The most that a worker stores of such states, in megabytes per second.',
  }),
  LEHR_CHECKPOINT_REDIS_KB: whole.min(0, 'must be at least 0').default(256).meta({
    description: 'Up to this size, in kilobytes, a state is stored in Redis; a larger one in the store.',
  }),
  LEHR_EC2_METADATA_URL: httpUrl.optional().meta({
    description:
      'The EC2 metadata service, `http://169.254.169.254` on an instance. A worker drains when it announces that the instance will be taken back. Not set: it is not read.',
  }),
} as const;

/**
 * Variables of Lehr's other programs, which an API or a worker may find in its environment: LEHR_URL is read by the client
 * and the command `lehr`, the others by the tests.
 */
export const OTHER_VARIABLES: readonly string[] = [
  'LEHR_URL',
  'LEHR_PICTURE_SIZE',
  'LEHR_TEST_MARK',
  'LEHR_TEST_S3',
];

/** A schema of the named variables, for readConfig. */
export function envSchema<Name extends keyof typeof ENV>(
  ...names: readonly Name[]
): z.ZodObject<Pick<typeof ENV, Name>> {
  return z.object(Object.fromEntries(names.map((name) => [name, ENV[name]])) as Pick<typeof ENV, Name>);
}
