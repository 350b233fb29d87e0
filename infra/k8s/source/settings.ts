/**
 * What users of the chart may change: values.yaml and values.schema.json are made from here. The presets are also the values
 * of the plain files.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Setting } from './setting.ts';

const ROOT = join(import.meta.dirname, '../../..');

export interface Documented {
  readonly path: string;
  readonly setting: Setting;
  readonly about: string;
  /** A JSON schema. */
  readonly schema: object;
}

/** The type of a text, a count and so on, for values.schema.json. */
export const TYPES = {
  text: { type: 'string' },
  name: { type: 'string', minLength: 1 },
  count: { type: 'integer', minimum: 0 },
  atLeastOne: { type: 'integer', minimum: 1 },
  flag: { type: 'boolean' },
  quantity: { type: ['string', 'number'] },
  object: { type: 'object' },
  texts: { type: 'object', additionalProperties: { type: 'string' } },
} as const;

const documented = (path: string, preset: unknown, schema: object, about: string): Documented => ({
  path,
  setting: new Setting(`.Values.${path}`, preset),
  schema,
  about,
});

export const VERSION: string = (
  JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
).version;

/** Settings of every process of Lehr, by name; the ConfigMap lehr-settings. */
export const BASE_SETTINGS = { LEHR_STORE: 's3', LEHR_S3_BUCKET: 'lehr', LEHR_LOG_LEVEL: 'info' } as const;

const limits = (cpu: string, memory: string, limit: string): object => ({
  requests: { cpu, memory },
  limits: { memory: limit },
});

/** A variable of Lehr or of a library that reads its own. */
export const VARIABLE_NAMES = '^(LEHR|OTEL|HF|AWS|NODE)_[A-Z0-9_]+$';

export const SETTINGS = {
  settings: documented(
    'settings',
    BASE_SETTINGS,
    { ...TYPES.texts, propertyNames: { pattern: VARIABLE_NAMES } },
    'Variables of every process of Lehr, from the table in the README. Secrets come from Secrets, see docs/kubernetes.md.',
  ),
  models: documented(
    'models',
    demoModels(),
    TYPES.name,
    'The text of models.yaml. A change needs no restart.',
  ),
  apiImage: documented('api.image', `lehr-api:${VERSION}`, TYPES.name, 'Image of the API.'),
  apiMin: documented('api.min', 2, TYPES.atLeastOne, 'Fewest API processes that answer requests.'),
  apiMax: documented(
    'api.max',
    10,
    TYPES.atLeastOne,
    'Most of them. More start above 70 % of the requested CPU.',
  ),
  apiHeld: documented(
    'api.heldRequests',
    '1000',
    { type: 'string', pattern: '^[1-9][0-9]*$' },
    'With KEDA, more also start above so many requests, for each process, that wait for a job.',
  ),
  apiResources: documented(
    'api.resources',
    limits('500m', '512Mi', '1Gi'),
    TYPES.object,
    'Resources of an API process.',
  ),
  apiAccount: documented(
    'api.accountAnnotations',
    {},
    TYPES.texts,
    'Annotations of its service account, for example eks.amazonaws.com/role-arn.',
  ),
  webhooksMin: documented('webhooks.replicas', 2, TYPES.atLeastOne, 'Processes that deliver webhooks.'),
  workerAccount: documented(
    'workers.accountAnnotations',
    {},
    TYPES.texts,
    'Annotations of the service account of all workers.',
  ),
  redisImage: documented(
    'redis.image',
    'redis:7.4-bookworm',
    TYPES.name,
    'Image of Redis, or of Valkey 7.2 or newer.',
  ),
  redisMemory: documented(
    'redis.maxMemory',
    '1gb',
    TYPES.name,
    'maxmemory. See the sizes in docs/kubernetes.md.',
  ),
  redisResources: documented(
    'redis.resources',
    limits('500m', '2Gi', '2Gi'),
    TYPES.object,
    'Twice maxMemory: while Redis rewrites its log, a second process copies what changes.',
  ),
  redisDisk: documented('redis.disk', '10Gi', TYPES.quantity, 'Size of the volume with its log.'),
} as const satisfies Readonly<Record<string, Documented>>;

/** Values that only decide whether objects are there; the plain files have components for them. */
export const SWITCHES: readonly Documented[] = [
  documented(
    'redis.enabled',
    true,
    TYPES.flag,
    'One Redis beside Lehr. Off: LEHR_REDIS_URL of the Secrets names another one.',
  ),
  documented('keda.enabled', false, TYPES.flag, 'ScaledObjects for the pools. KEDA must be installed.'),
  documented(
    'monitoring.enabled',
    false,
    TYPES.flag,
    'PodMonitors and alerts. The operator of Prometheus must be installed.',
  ),
  documented('networkPolicies.enabled', true, TYPES.flag, 'Allow only the connections that Lehr needs.'),
];

/** The demo models, with the folders that they have in the images. */
function demoModels(): string {
  const text = readFileSync(join(ROOT, 'packages/demo-models/models/models.yaml'), 'utf8');
  return text
    .replace(/^#.*\n/gm, '')
    .replaceAll(/path: (demo-[a-z]+)/g, 'path: /lehr/packages/demo-models/models/$1');
}
