/** compose.yaml and its secrets, as far as they can be proved without a container engine: no container runs here. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { tempFolder } from '../support/tiny-models.ts';
import { ROOT, readText } from './readme.ts';
import { expectUsable } from './variables.ts';

const COMPOSE = 'infra/compose.yaml';

const SECRETS = {
  LEHR_API_KEY: 'a-key-of-more-than-twenty-characters',
  LEHR_KEY_PEPPER: 'a-pepper-of-more-than-thirty-two-characters',
  LEHR_SECRET_KEY: 'a-sealing-key-of-more-than-thirty-two-characters',
  LEHR_STORE_SECRET: 'a-store-secret-of-more-than-thirty-two-characters',
  AWS_ACCESS_KEY_ID: 'an-access-key',
  AWS_SECRET_ACCESS_KEY: 'hush',
  REDIS_API_PASSWORD: 'hush-api',
  REDIS_WORKER_PASSWORD: 'hush-worker',
  REDIS_OPERATOR_PASSWORD: 'hush-operator',
};

interface Services {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly user?: string;
        readonly cap_add?: readonly string[];
        readonly environment?: Readonly<Record<string, string | number>>;
        readonly build?: { readonly dockerfile: string };
        readonly image?: string;
        readonly healthcheck?: object;
        readonly ports?: readonly string[];
        readonly volumes?: readonly (string | { readonly target: string })[];
        readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
      }
    >
  >;
}

/** What docker-compose makes of the file; rejects with its complaint. */
async function composed(env: Readonly<Record<string, string>>): Promise<Services> {
  // Instead of infra/.env, which this machine may have.
  const empty = join(await tempFolder('compose'), 'empty.env');
  await writeFile(empty, '');
  const args = [
    '--env-file',
    empty,
    '-f',
    join(ROOT, COMPOSE),
    '--profile',
    'gpu',
    '--profile',
    'observe',
    'config',
  ];
  const { stdout } = await promisify(execFile)('docker-compose', args, {
    env: { PATH: process.env.PATH, ...env },
  });
  return parse(stdout) as Services;
}

test('compose.yaml is valid with all its profiles, and every service starts after those that it needs', async () => {
  const { services } = await composed(SECRETS);
  const lehr = ['api', 'redis', 's3', 'worker-cpu', 'worker-cuda'];
  expect(Object.keys(services).sort()).toEqual([...lehr, 'grafana', 'prometheus'].sort());
  for (const [name, service] of Object.entries(services)) {
    if (service.build) {
      expect(existsSync(join(ROOT, service.build.dockerfile))).toBe(true);
      expect(Object.keys(service.depends_on ?? {})).toEqual(['redis', 's3']);
    } else {
      expect(service.image, name).toMatch(/:v?\d+\.\d+/);
      expect(service.healthcheck, name).toBeDefined();
    }
    for (const needed of Object.values(service.depends_on ?? {}))
      expect(needed.condition).toBe('service_healthy');
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
  }
});

test('Prometheus of compose.yaml scrapes the services and ports of compose.yaml, and all files that it mounts exist', async () => {
  const { services } = await composed(SECRETS);
  const path = join(ROOT, 'infra/observe/prometheus.yaml');
  const { stdout } = await promisify(execFile)('promtool', ['check', 'config', path]);
  expect(stdout).toContain('is valid prometheus config file syntax');
  const text = await readFile(path, 'utf8');
  expect(text).toContain(`"api:${services.api.environment?.LEHR_OPERATIONS_PORT}"`);
  for (const worker of ['worker-cpu', 'worker-cuda']) {
    expect(text).toContain(worker);
    expect(readText(`infra/docker/${worker}.Dockerfile`)).toContain('LEHR_WORKER_PORT=9464');
  }
  expect(text).toContain('port: 9464');
  for (const [, mounted] of readText(COMPOSE).matchAll(/- \.\/(\S+?):\//g))
    expect(existsSync(join(ROOT, 'infra', mounted)), mounted).toBe(true);
});

test('compose.yaml sets only variables that exist, to valid values', async () => {
  const { services } = await composed(SECRETS);
  for (const { environment } of Object.values(services)) {
    const entries = Object.entries(environment ?? {}).filter(
      ([name, value]) => /^(?:LEHR|HF)_/.test(name) && value !== '',
    );
    expectUsable(Object.fromEntries(entries.map(([name, value]) => [name, String(value)])));
  }
});

test('The workers of compose.yaml can fetch models, into a folder that outlives the container', async () => {
  const { services } = await composed({ ...SECRETS, HF_TOKEN: 'hf_hush' });
  for (const [name, { environment, volumes }] of Object.entries(services)) {
    const isWorker = name.startsWith('worker-');
    expect(environment?.HF_TOKEN, name).toBe(isWorker ? 'hf_hush' : undefined);
    const folders = (volumes ?? []).map((volume) => (typeof volume === 'string' ? volume : volume.target));
    expect(
      folders.some((folder) => folder.includes('/var/lib/lehr')),
      name,
    ).toBe(isWorker);
  }
});

test('compose.yaml has no built-in value for a secret, and refuses to run without one', async () => {
  const text = readText(COMPOSE);
  for (const name of Object.keys(SECRETS)) {
    const uses = [...text.matchAll(new RegExp(`\\$\\{${name}\\b([^}]*)\\}`, 'g'))].map(([, rest]) => rest);
    expect(uses.join(), name).toMatch(/^:\?set it to/m);
    for (const rest of uses) expect(rest, name).toMatch(/^$|^:\?set it to/);
  }
  await expect(composed({})).rejects.toThrow(/set it to/);
});

test('No container of compose.yaml may gain rights or write to its image, and each has limits', async () => {
  const { services } = await composed(SECRETS);
  for (const [name, service] of Object.entries(services)) {
    expect(service, name).toMatchObject({
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      read_only: true,
      pids_limit: expect.any(Number),
      mem_limit: expect.stringMatching(/^\d+g$/),
      tmpfs: [expect.stringMatching(/:mode=1777$/)],
    });
    // Only the S3 server starts as root; the images of Lehr name their own user.
    if (name !== 's3') expect(service.cap_add, name).toBeUndefined();
  }
  expect(services.redis.user).toBe('redis');
});

test('Each container of compose.yaml has only the secrets that its program uses', async () => {
  const { services } = await composed(SECRETS);
  const secretsOf = (name: string): string[] => {
    const text = JSON.stringify(services[name].environment);
    return Object.entries(SECRETS).flatMap(([secret, value]) => (text.includes(value) ? [secret] : []));
  };
  const s3 = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'];
  const own = ['LEHR_API_KEY', 'LEHR_KEY_PEPPER', 'LEHR_SECRET_KEY', 'LEHR_STORE_SECRET'];
  expect(secretsOf('api')).toEqual([...own, ...s3, 'REDIS_API_PASSWORD']);
  for (const worker of ['worker-cpu', 'worker-cuda'])
    expect(secretsOf(worker)).toEqual([...s3, 'REDIS_WORKER_PASSWORD']);
  expect(secretsOf('s3')).toEqual(s3);
});

test('compose-secrets.sh writes every variable that compose.yaml requires, for its owner only, and keeps what exists', async () => {
  const file = join(await tempFolder('compose'), '.env');
  const write = () => promisify(execFile)('sh', [join(ROOT, 'infra/compose-secrets.sh'), file]);
  await write();
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const text = await readFile(file, 'utf8');
  const written = Object.fromEntries(
    text
      .trim()
      .split('\n')
      .map((line) => line.split('=')),
  );
  expect(Object.keys(written).sort()).toEqual(Object.keys(SECRETS).sort());
  expect(new Set(Object.values(written)).size).toBe(Object.keys(SECRETS).length);
  await composed(written);
  await write();
  expect(await readFile(file, 'utf8')).toBe(text);
});

test('compose-secrets.sh fails and writes no file where openssl is missing', async () => {
  const folder = await tempFolder('compose');
  const programs = await tempFolder('programs');
  for (const name of ['dirname', 'mv', 'rm']) await symlink(join('/usr/bin', name), join(programs, name));
  const script = join(ROOT, 'infra/compose-secrets.sh');
  const writing = promisify(execFile)('/bin/sh', [script, join(folder, '.env')], { env: { PATH: programs } });
  await expect(writing).rejects.toMatchObject({ code: 127 });
  expect(await readdir(folder)).toEqual([]);
});
