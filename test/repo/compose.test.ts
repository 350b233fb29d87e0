/** compose.yaml and its secrets, as far as they can be proved without a container engine: no container runs here. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { API_ENV } from '../../apps/api/src/base/env.ts';
import { WORKER_ENV } from '../../apps/worker/src/parent/env.ts';
import { ENV } from '../../packages/shared/src/index.ts';
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
        readonly environment?: Readonly<Record<string, string | number | null>>;
        readonly build?: { readonly dockerfile: string };
        readonly image?: string;
        readonly healthcheck?: { readonly test: readonly string[] };
        readonly networks: object;
        readonly ports?: readonly string[];
        readonly volumes?: readonly (string | { readonly target: string })[];
        readonly command?: readonly string[];
        readonly logging?: { readonly options: Readonly<Record<string, string>> };
        readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
      }
    >
  >;
}

interface Sources {
  readonly datasources: readonly { readonly uid: string; readonly url: string }[];
}

/** The text of all targets of Prometheus. */
function scrapedAddresses(): string {
  const { scrape_configs } = parse(readText('infra/observe/prometheus.yaml')) as { scrape_configs: unknown };
  return JSON.stringify(scrape_configs);
}

/** What docker-compose makes of the file; rejects with its complaint. */
async function composed(env: Readonly<Record<string, string>>): Promise<Services> {
  // Instead of infra/.env, which this machine may have.
  const empty = join(await tempFolder('compose'), 'empty.env');
  await writeFile(empty, '');
  const profiles = ['gpu', 'observe', 'observe-gpu'].flatMap((profile) => ['--profile', profile]);
  const args = [
    '--env-file',
    empty,
    '--project-directory',
    join(ROOT, 'infra'),
    '-f',
    '-',
    ...profiles,
    'config',
  ];
  const running = promisify(execFile)('docker-compose', args, { env: { PATH: process.env.PATH, ...env } });
  // Version 1, which Debian has, knows all of it but the name.
  running.child.stdin?.end(readText(COMPOSE).replace(/^name: lehr$/m, ''));
  return parse((await running).stdout) as Services;
}

let shipped: Promise<Services> | undefined;
/** With no variable but the secrets; read once, because docker-compose takes a second. */
const asShipped = (): Promise<Services> => {
  shipped ??= composed(SECRETS);
  return shipped;
};

test('compose.yaml is valid with all its profiles, and every service starts after those that it needs', async () => {
  const { services } = await asShipped();
  const lehr = ['api', 'redis', 's3', 'worker-cpu', 'worker-cuda'];
  const observe = ['alloy', 'cadvisor', 'dcgm-exporter', 'grafana', 'loki', 'prometheus', 'tempo'];
  expect(Object.keys(services).sort()).toEqual([...lehr, ...observe].sort());
  for (const [name, service] of Object.entries(services)) {
    if (service.build) {
      expect(existsSync(join(ROOT, service.build.dockerfile))).toBe(true);
      expect(Object.keys(service.depends_on ?? {})).toEqual(['redis', 's3']);
    } else {
      expect(service.image, name).toMatch(/:v?\d+\.\d+/);
      // The images of these have no program that could ask for their health; Prometheus does.
      if (['alloy', 'dcgm-exporter', 'tempo'].includes(name)) expect(scrapedAddresses()).toContain(name);
      else expect(service.healthcheck, name).toBeDefined();
    }
    for (const needed of Object.values(service.depends_on ?? {}))
      expect(needed.condition).toBe('service_healthy');
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
  }
});

test('Prometheus of compose.yaml scrapes the services and ports of compose.yaml, and all files that it mounts exist', async () => {
  const { services } = await asShipped();
  const path = join(ROOT, 'infra/observe/prometheus.yaml');
  const { stdout } = await promisify(execFile)('promtool', ['check', 'config', path]);
  expect(stdout).toContain('is valid prometheus config file syntax');
  const text = await readFile(path, 'utf8');
  expect(text).toContain(`"api:${portOf(services.api)}"`);
  for (const worker of ['worker-cpu', 'worker-cuda']) {
    expect(text).toContain(worker);
    expect(readText(`infra/docker/${worker}.Dockerfile`)).toContain('LEHR_WORKER_PORT=9464');
  }
  expect(text).toContain('port: 9464');
  for (const [, mounted] of readText(COMPOSE).matchAll(/(?:- |\[")\.\/(\S+?):\//g))
    expect(existsSync(join(ROOT, 'infra', mounted)), mounted).toBe(true);
});

test('The logs of compose.yaml are kept in files of bounded size, with the label that the log shipper reads', async () => {
  const { services } = await asShipped();
  const [, label] = /attrs\.\\"([\w.]+)\\"/.exec(readText('infra/observe/alloy.alloy')) ?? [];
  for (const [name, { logging }] of Object.entries(services)) {
    expect(logging?.options, name).toEqual({ 'max-size': '20m', 'max-file': '5', labels: label });
  }
});

test('Grafana of compose.yaml reads the services and ports that its sources, dashboards and links name', async () => {
  const { services } = await asShipped();
  const folder = 'infra/observe';
  const { datasources } = parse(readText(`${folder}/grafana-provisioning/datasource.yaml`)) as Sources;
  const ports: Record<string, unknown> = {
    prometheus: 9090,
    loki: parse(readText(`${folder}/loki.yaml`)).server.http_listen_port,
    tempo: parse(readText(`${folder}/tempo.yaml`)).server.http_listen_port,
  };
  for (const { uid, url } of datasources) {
    expect(services[uid], uid).toBeDefined();
    expect(url).toBe(`http://${uid}:${ports[uid]}`);
  }
  expect(datasources.map(({ uid }) => uid)).toEqual(['prometheus', 'loki', 'tempo']);
  const links = JSON.stringify(datasources).matchAll(/"datasourceUid":"(\w+)"/g);
  expect([...links].map(([, uid]) => uid).sort()).toEqual(['loki', 'tempo', 'tempo']);
  for (const file of await readdir(join(ROOT, folder, 'grafana'))) {
    const text = readText(`${folder}/grafana/${file}`);
    const used = [...text.matchAll(/"datasource": \{\s*"type": "(\w+)"/g)].map(([, type]) => type);
    expect(new Set(used), file).toEqual(new Set(['prometheus']));
  }
});

test('Traces and logs of compose.yaml arrive at ports that Tempo and Loki listen on, and the links find what Lehr writes', () => {
  const tempo = parse(readText('infra/observe/tempo.yaml'));
  const [, endpoint] = /OTEL_EXPORTER_OTLP_ENDPOINT=http:\/\/(tempo:\d+)/.exec(readText(COMPOSE)) ?? [];
  expect(tempo.distributor.receivers.otlp.protocols.http.endpoint).toBe(
    endpoint?.replace('tempo', '0.0.0.0'),
  );
  const loki = parse(readText('infra/observe/loki.yaml')).server.http_listen_port;
  expect(readText('infra/observe/alloy.alloy')).toContain(`http://loki:${loki}/loki/api/v1/push`);
  const sources = readText('infra/observe/grafana-provisioning/datasource.yaml');
  // The name of the field in Lehr's logs, and that of the label of its exemplars.
  expect(readText('apps/api/src/http/middleware/observe.ts')).toContain('trace: traceIdOf(traceparent)');
  expect(sources).toContain(`'"trace":"([0-9a-f]{32})"'`);
  expect(sources).toContain('| json | trace="$${__trace.traceId}"');
  expect(readText('packages/shared/src/base/metrics.ts')).toContain('{ trace_id: traceId }');
  expect(sources).toContain('{ name: trace_id, datasourceUid: tempo }');
});

test('compose.yaml sets only variables that exist, to valid values', async () => {
  const { services } = await asShipped();
  for (const { environment } of Object.values(services)) {
    const entries = Object.entries(environment ?? {}).filter(
      ([name, value]) => /^(?:LEHR|HF)_/.test(name) && value !== null,
    );
    expectUsable(Object.fromEntries(entries.map(([name, value]) => [name, String(value)])));
  }
});

/** Of the operations listener of the API. */
const portOf = ({ environment }: { readonly environment?: Readonly<Record<string, unknown>> }): string =>
  String(environment?.LEHR_OPERATIONS_PORT).replace(/^.*:/, '');

/** What compose.yaml decides by itself. */
const FIXED = ['LEHR_REDIS_URL', 'LEHR_NAMESPACE', 'LEHR_OPERATIONS_PORT'];
/** A worker signs no links to an S3 store. */
const OF_THE_FOLDER_STORE = ['LEHR_PORT', 'LEHR_PUBLIC_URL', 'LEHR_STORE_SECRET'];

test('A line of infra/.env reaches every container that reads its variable, for all variables but a few that the docs name', async () => {
  const read = { api: Object.keys(API_ENV.shape), 'worker-cpu': Object.keys(WORKER_ENV.shape) };
  expect([...new Set(Object.values(read).flat())].sort()).toEqual(Object.keys(ENV).sort());
  const lines = Object.fromEntries(Object.keys(ENV).map((name) => [name, `the ${name}`]));
  const { services } = await composed({ ...SECRETS, ...lines });
  for (const [service, names] of Object.entries(read)) {
    const ofTheImage = readText(`infra/docker/${service}.Dockerfile`).match(/\bLEHR_\w+(?==)/g) ?? [];
    const others = [...FIXED, ...ofTheImage, ...(service === 'api' ? [] : OF_THE_FOLDER_STORE)];
    const missing = names.filter((name) => services[service].environment?.[name] !== lines[name]);
    expect(missing.sort(), service).toEqual(names.filter((name) => others.includes(name)).sort());
  }
  expect(services['worker-cuda'].environment).toEqual(services['worker-cpu'].environment);
  const page = readText('docs/compose.md');
  for (const name of FIXED) expect(page, name).toContain(`\`${name}\``);
});

test('The two lines of docs/compose.md give API and workers of compose.yaml a folder of own models', async () => {
  const [, folder, file] =
    /^MODELS_FOLDER=(\S+)\nLEHR_MODELS=(\S+)$/m.exec(readText('docs/compose.md')) ?? [];
  const { services } = await composed({ ...SECRETS, MODELS_FOLDER: folder, LEHR_MODELS: file });
  for (const name of ['api', 'worker-cpu', 'worker-cuda']) {
    expect(services[name].environment?.LEHR_MODELS, name).toBe('/models/models.yaml');
    expect(services[name].volumes, name).toContain(`${folder}:/models:ro`);
  }
});

test('compose.yaml names its project, so that its volumes are not those of another folder named infra', () => {
  expect(parse(readText(COMPOSE)).name).toBe('lehr');
});

test('API and workers of compose.yaml are healthy when they are ready, which is when their models are open', async () => {
  const { services } = await asShipped();
  const ports = {
    api: portOf(services.api),
    'worker-cpu': 9464,
    'worker-cuda': 9464,
  };
  for (const [name, port] of Object.entries(ports))
    expect(services[name].healthcheck?.test, name).toEqual([
      'CMD',
      'node',
      'infra/docker/healthy.mjs',
      `${port}`,
      '/readyz',
    ]);
});

test('No observer of compose.yaml reaches Redis or the store, and nothing reaches more of the store than S3', async () => {
  const { services } = await asShipped();
  for (const [name, { networks, build }] of Object.entries(services)) {
    const own = ['redis', 's3'].includes(name) ? ['data'] : ['observe'];
    expect(Object.keys(networks).sort(), name).toEqual(build ? ['data', 'observe'] : own);
  }
  const wanted = [
    '-ip=127.0.0.1',
    '-ip.bind=127.0.0.1',
    '-s3',
    '-s3.ip.bind=0.0.0.0',
    '-master.telemetry=false',
  ];
  expect(services.s3.command).toEqual(expect.arrayContaining(['server', ...wanted]));
  for (const argument of wanted)
    expect(readText('infra/helm/lehr/templates/s3.yaml')).toContain(`- ${argument}\n`);
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
    expect(uses.join('\n'), name).toMatch(/^:\?set it to/m);
    for (const rest of uses) expect(rest, name).toMatch(/^$|^:\?set it to/);
  }
  await expect(composed({})).rejects.toThrow(/set it to/);
});

test('No container of compose.yaml may gain rights or write to its image, and each has limits', async () => {
  const { services } = await asShipped();
  for (const [name, service] of Object.entries(services)) {
    expect(service, name).toMatchObject({
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      read_only: true,
      pids_limit: expect.any(Number),
      mem_limit: expect.stringMatching(/^\d+g$/),
      // Of a folder that the image lacks, runc before 1.1.8 changes the mode at the second start.
      tmpfs: ['/tmp:mode=1777'],
    });
    // Each of these is explained where it is given; the images of Lehr name their own user.
    const rights: Record<string, readonly string[]> = {
      s3: ['CHOWN', 'DAC_OVERRIDE', 'SETGID', 'SETUID'],
      alloy: ['DAC_READ_SEARCH'],
      cadvisor: ['DAC_READ_SEARCH'],
      'dcgm-exporter': ['SYS_ADMIN'],
    };
    expect(service.cap_add, name).toEqual(rights[name]);
    const socket = JSON.stringify(service.volumes ?? []).includes('docker.sock');
    expect(socket, name).toBe(name === 'cadvisor');
  }
  expect(services.redis.user).toBe('redis');
});

test('Each container of compose.yaml has only the secrets that its program uses', async () => {
  const { services } = await asShipped();
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
