/** The configuration of the API: the variables it reads, the rules that go beyond one variable, and what operators see of it. */
import { readFileSync } from 'node:fs';
import {
  DEFAULT_POOLS,
  ENV,
  envSchema,
  type ModelsFile,
  type Pool,
  parsePools,
  type Registry,
  readSettings,
  type Setting,
  type Settings,
  TRACING_VARIABLES,
} from '@lehr/shared';
import { createEgress, type Egress, parseAllowList } from '@lehr/shared/egress';
import type { z } from 'zod';

export const API_ENV = envSchema(
  'LEHR_HOME',
  'LEHR_HOST',
  'LEHR_PORT',
  'LEHR_OPERATIONS_PORT',
  'LEHR_PUBLIC_URL',
  'LEHR_TRUSTED_PROXIES',
  'LEHR_SECURITY_CONTACT',
  'LEHR_API_KEY',
  'LEHR_KEY_PEPPER',
  'LEHR_MAX_WAIT_S',
  'LEHR_HOLD_S',
  'LEHR_REDIS_URL',
  'LEHR_NAMESPACE',
  'LEHR_MODELS',
  'LEHR_POOLS',
  'LEHR_ROLES',
  'LEHR_SECRET_KEY',
  'LEHR_EGRESS_ALLOW',
  'LEHR_OPERATOR_WEBHOOK_URL',
  'LEHR_OPERATOR_WEBHOOK_SECRET',
  'LEHR_MAX_UPLOAD_MB',
  'LEHR_PROMETHEUS_URL',
  'LEHR_METRICS_TENANTS',
  'LEHR_RECORD_TTL_H',
  'LEHR_AUDIT_DAYS',
  'LEHR_USAGE_DAYS',
  'LEHR_DEVICE_HOUR_PRICE',
  'LEHR_CURRENCY',
  'LEHR_OUTPUT_TTL_H',
  'LEHR_LINK_TTL_S',
  'LEHR_STORE_SECRET',
  'LEHR_S3_BUCKET',
  'AWS_REGION',
  'AWS_ENDPOINT_URL_S3',
  'LEHR_S3_PUBLIC_ENDPOINT',
  'LEHR_LOG_LEVEL',
  ...TRACING_VARIABLES,
);
export type ApiConfig = z.output<typeof API_ENV>;

/** Throws ConfigError with every fault of the environment and of the models file. */
export const readApiSettings = (
  source: Readonly<Record<string, string | undefined>>,
  defaultModels: string,
): Promise<Settings<ApiConfig>> =>
  readSettings(API_ENV, source, {
    defaultModels,
    check: (config, models) => [
      ...openHostFaults(config),
      ...operatorWebhookFaults(config),
      ...poolFaults(config, models),
    ],
  });

/** The pools of LEHR_POOLS. Throws when the file cannot be used. */
export const readPools = (
  { LEHR_POOLS: path }: Pick<ApiConfig, 'LEHR_POOLS'>,
  registry: Registry,
): readonly Pool[] => (path === undefined ? DEFAULT_POOLS : parsePools(readFileSync(path, 'utf8'), registry));

function poolFaults({ LEHR_POOLS }: Partial<ApiConfig>, models: ModelsFile | undefined): readonly string[] {
  if (!models) return [];
  try {
    readPools({ LEHR_POOLS }, models.registry);
    return [];
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'it does not exist' : message;
    return [`LEHR_POOLS is ${JSON.stringify(LEHR_POOLS)}: ${why}`];
  }
}

/** A key that is generated on the first start must not protect an API that other machines can reach. */
export function openHostFaults({ LEHR_HOST: host, ...config }: Partial<ApiConfig>): readonly string[] {
  const hasNoKey = 'LEHR_API_KEY' in config && config.LEHR_API_KEY === undefined;
  if (host === undefined || isLoopback(host) || !hasNoKey) return [];
  return [`LEHR_HOST is "${host}", which others can reach: set LEHR_API_KEY, or use 127.0.0.1`];
}

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);

/** A webhook without a secret would not be signed. A variable that cannot be read is absent here, and is reported already. */
export function operatorWebhookFaults(config: Partial<ApiConfig>): readonly string[] {
  const pair = ['LEHR_OPERATOR_WEBHOOK_URL', 'LEHR_OPERATOR_WEBHOOK_SECRET'] as const;
  if (!pair.every((name) => name in config)) return [];
  const missing = pair.filter((name) => config[name] === undefined);
  const set = pair.find((name) => name !== missing[0]);
  if (missing.length === 1) return [`${missing[0]} is missing: ${set} is set`];
  const { LEHR_OPERATOR_WEBHOOK_URL: url } = config;
  return url === undefined || canBeCalled(config, url)
    ? []
    : [
        'LEHR_OPERATOR_WEBHOOK_URL must be an https URL on port 443 without a user name, or of a host that LEHR_EGRESS_ALLOW names',
      ];
}

function canBeCalled(config: Partial<ApiConfig>, url: string): boolean {
  try {
    egressOf(config).check(url);
    return true;
  } catch {
    return false;
  }
}

/** Guards requests to URLs that are not Lehr's own. */
export const egressOf = ({ LEHR_EGRESS_ALLOW: allow = '' }: Partial<ApiConfig>): Egress =>
  createEgress({ allow: parseAllowList(allow) });

type Name = keyof typeof ENV;

/** The settings in force, as an operator may read them: never the value of a secret. `config` holds the variables that were read. */
export function settingsOf(config: Readonly<Record<string, unknown>>): readonly Setting[] {
  const names = Object.keys(config).filter((name): name is Name => name in ENV);
  return names.sort().map((name) => {
    const { description = '', secret } = (ENV[name].meta() ?? {}) as {
      description?: string;
      secret?: boolean;
    };
    const value = config[name];
    const is_set = value !== undefined;
    const is_secret = secret === true;
    return { name, value: is_set && !is_secret ? textOf(value) : null, is_set, is_secret, description };
  });
}

const textOf = (value: unknown): string =>
  withoutUser(Array.isArray(value) ? value.join(',') : String(value));

/** The address of a server may have a password before its host; the password may have an @. */
const withoutUser = (text: string): string => text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, '$1');
