import { expect, test } from 'vitest';
import { ConfigError } from '../base/errors.ts';
import { ENV, envSchema, readConfig } from './env.ts';

const faultsOf = (source: Record<string, string>, ...names: (keyof typeof ENV)[]): readonly string[] => {
  const all = names.length > 0 ? names : (Object.keys(ENV) as (keyof typeof ENV)[]);
  try {
    readConfig(envSchema(...all), source);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
};

test('All faulty variables are reported together, each with its value and what is accepted', () => {
  const faults = faultsOf({
    LEHR_PORT: 'http',
    LEHR_HOLD_S: '500',
    LEHR_ROLES: 'http,painting',
    LEHR_TASKS: 'painting',
    LEHR_ROW_CAP: 'many',
    LEHR_LOG_PROMPTS: 'maybe',
    LEHR_PUBLIC_URL: 'lehr.example',
    LEHR_EGRESS_ALLOW: '10.0.0.0/8,not a host',
  });
  expect(faults).toEqual([
    'LEHR_LOG_PROMPTS is "maybe": must be true or false',
    'LEHR_PORT is "http": must be a number',
    'LEHR_PUBLIC_URL is "lehr.example": must be an http:// or https:// URL',
    'LEHR_HOLD_S is "500": must be at most 280',
    'LEHR_ROLES is "http,painting": must be http, webhooks, or both with a comma',
    'LEHR_EGRESS_ALLOW is "10.0.0.0/8,not a host": "not a host" is neither a range like 10.1.0.0/16, an address, nor a host name',
    'LEHR_TASKS is "painting": must be one of diffusion, whisper, text, transform, or several of them with commas',
    'LEHR_ROW_CAP is "many": must be auto or a whole number from 1 to 256',
  ]);
});

test('The value of a secret is not part of the message', () => {
  const faults = faultsOf({ LEHR_API_KEY: 'hunter2', LEHR_REDIS_URL: 'http://:hunter2@redis' });
  expect(faults).toHaveLength(2);
  expect(faults.join()).not.toContain('hunter2');
});

test.each(['', 'one:two', 'one:26379,'])('A Redis with the Sentinels "%s" is refused', (sentinels) => {
  expect(
    faultsOf({ LEHR_REDIS_URL: `redis://:hunter2@primary?sentinels=${sentinels}` }, 'LEHR_REDIS_URL'),
  ).toEqual(['LEHR_REDIS_URL was refused: must have host:port of each Sentinel in sentinels=, with commas']);
});

test('An empty variable counts as not set', () => {
  expect(readConfig(envSchema('LEHR_PORT'), { LEHR_PORT: '', LEHR_PROT: '' })).toEqual({ LEHR_PORT: 8080 });
});

test.each([
  ['LEHR_PROT', 'LEHR_PORT'],
  ['LEHR_MODEL', 'LEHR_MODELS'],
  ['LEHR_LOGLEVEL', 'LEHR_LOG_LEVEL'],
  ['LEHR_S3_BUKET', 'LEHR_S3_BUCKET'],
  ['LEHR_WORKERS_PORT', 'LEHR_WORKER_PORT'],
  ['LEHR_API_KEYS', 'LEHR_API_KEY'],
])('The unknown variable %s is a fault that suggests %s', (name, meant) => {
  expect(faultsOf({ [name]: 'hunter2' }, 'LEHR_PORT')).toEqual([
    `${name} is not a variable of Lehr: did you mean ${meant}?`,
  ]);
});

test('An unknown variable that resembles no other one is a fault without a suggestion', () => {
  expect(faultsOf({ LEHR_TURBO_ENCABULATOR: '1' })).toEqual([
    'LEHR_TURBO_ENCABULATOR is not a variable of Lehr: docs/settings.md lists those there are.',
  ]);
});

test('A variable that another program of Lehr reads is not a fault', () => {
  const source = { LEHR_URL: 'http://127.0.0.1:8080', LEHR_TEST_S3: 'off', LEHR_TASKS: 'whisper' };
  expect(faultsOf(source, 'LEHR_PORT')).toEqual([]);
});

test('Variables that Kubernetes sets for a service called lehr-api are not faults', () => {
  const source = {
    LEHR_API_SERVICE_HOST: '10.0.0.7',
    LEHR_API_SERVICE_PORT_HTTP: '8080',
    LEHR_API_PORT: 'tcp://10.0.0.7:8080',
    LEHR_API_PORT_8080_TCP: 'tcp://10.0.0.7:8080',
    LEHR_API_PORT_8080_TCP_ADDR: '10.0.0.7',
  };
  expect(faultsOf(source)).toEqual([]);
});

test('The further lines of a fault are indented below its first line', () => {
  expect(new ConfigError(['one:\n  - two']).message).toBe(
    'Configuration is not usable:\n  - one:\n      - two',
  );
});
