/** The files of the chart agree with each other and with their sources. Helm is not needed; rendered-chart.test.ts needs it. */
import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { ENV } from '../../packages/shared/src/index.ts';
import { ROOT, readText } from '../repo/readme.ts';
import { CHART, EXAMPLES } from './helm.ts';

type Values = Readonly<Record<string, unknown>>;

const templates = readdirSync(join(ROOT, CHART, 'templates'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(yaml|tpl|txt)$/.test(name))
  .map((name) => readText(`${CHART}/templates/${name}`))
  .join('\n');
const text = readText(`${CHART}/values.yaml`);
const values = parse(text) as Values;
const schema = z.fromJSONSchema(
  JSON.parse(readText(`${CHART}/values.schema.json`)) as Parameters<typeof z.fromJSONSchema>[0],
);
const example = (name: string): Values =>
  parse(readText(`${CHART}/examples/${name}.yaml`), { merge: true }) as Values;

/** As Helm merges values: maps by name, and null removes. */
function merged(below: unknown, above: unknown): unknown {
  if (!isMap(below) || !isMap(above)) return above;
  const all: Record<string, unknown> = { ...below };
  for (const [name, value] of Object.entries(above)) {
    if (value === null) delete all[name];
    else all[name] = merged(below[name], value);
  }
  return all;
}
const isMap = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isValid = (given: unknown): boolean => schema.safeParse(merged(values, given)).success;

test('The schema allows values.yaml, and every example on top of it', () => {
  expect(schema.safeParse(values).error).toBeUndefined();
  expect(EXAMPLES).toEqual(['aws', 'single-node', 'trial']);
  for (const name of EXAMPLES)
    expect(schema.safeParse(merged(values, example(name))).error, name).toBeUndefined();
});

test.each([
  ['a name that does not exist', { apis: {} }],
  ['one inside a group', { api: { replica: 2 } }],
  ['one inside a pool', { pools: { cpu: { gpu: 1 } } }],
  ['one beside requests and limits', { redis: { resources: { request: {} } } }],
  ['a variable of no program here', { env: { PATH: '/' } }],
  ['a variable that is no text', { env: { LEHR_HOLD_S: 55 } }],
  ['a variable that the chart sets', { api: { env: { LEHR_PORT: '80' } } }],
  ['a secret as a plain variable', { env: { LEHR_API_KEY: 'x'.repeat(32) } }],
  ['a task that no worker has', { pools: { cpu: { tasks: ['video'] } } }],
  [
    'a name of a pool that is no name of an object',
    { pools: { 'A b': { ...(values.pools as Values).cpu! } } },
  ],
  ['limits of a pool in a second place', { pools: { cpu: { scaling: { min: 2 } } } }],
  ['no pools', { pools: null }],
])('The schema refuses %s', (_, given) => {
  expect(isValid(given)).toBe(false);
});

test('A value is taken away only where an empty one means the same', () => {
  const free = (value: unknown) => ['""', '{}', '[]'].includes(JSON.stringify(value));
  for (const [group, value] of Object.entries(values)) {
    expect(isValid({ [group]: null }), group).toBe(free(value));
    if (!isMap(value) || ['env', 'pools', 'testJob'].includes(group)) continue;
    for (const [name, inner] of Object.entries(value))
      expect(isValid({ [group]: { [name]: null } }), `${group}.${name}`).toBe(free(inner));
  }
});

test('Every variable of the README is set by a value, by the chart or by a Secret', () => {
  const group = (env: Values) => ({ env, api: { env }, pools: { cpu: { env } } });
  const own = Object.keys(ENV).filter((name) => !isValid(group({ [name]: 'x' })));
  expect(Object.keys(ENV).length - own.length).toBeGreaterThan(35);
  // Outside of a pod, LEHR_HOST has another default; the images set it, and LEHR_HOME.
  const images = readText('infra/docker/api.Dockerfile') + readText('infra/docker/worker-cpu.Dockerfile');
  for (const name of own)
    expect(templates.includes(`"${name}"`) || images.includes(`${name}=`), name).toBe(true);
});

test('Every value of values.yaml is used by a template', () => {
  for (const [group, value] of Object.entries(values)) {
    const isGroup = isMap(value) && !['env', 'pools', 'testJob', 'accountAnnotations'].includes(group);
    const paths = isGroup ? Object.keys(value).map((name) => `${group}.${name}`) : [group];
    for (const path of paths) expect(templates, path).toContain(`.Values.${path}`);
  }
});

test('Every value that a template uses is in values.yaml, and every field of a pool in the schema', () => {
  const used = [...templates.matchAll(/\.Values\.([\w.]+)/g)].map(([, path]) => path);
  for (const path of used) {
    const found = path.split('.').reduce<unknown>((place, name) => (place as Values)?.[name], values);
    expect(found, path).toBeDefined();
  }
  const fields = [...templates.matchAll(/\$pool\.(\w+)/g)].map(([, field]) => field);
  const { pools } = (JSON.parse(readText(`${CHART}/values.schema.json`)) as { properties: { pools: Schema } })
    .properties;
  const { properties } = pools.additionalProperties as Schema;
  expect(new Set(fields)).toEqual(new Set(Object.keys(properties ?? {})));
});

interface Schema {
  readonly properties?: object;
  readonly additionalProperties?: unknown;
}

test('Every value of values.yaml has a comment above it', () => {
  const lines = text.split('\n');
  const uncommented = lines.filter((line, i) => {
    const [, indent] = /^( {0,4})[a-zA-Z0-9]+:/.exec(line) ?? [];
    if (indent === undefined || lines[i - 1].trim().startsWith('#')) return false;
    // A group or a pool: its parts have the comments.
    return !/^\w+:$/.test(line.trim()) && !isInside(lines, i, /^models: \||resources:$/);
  });
  expect(uncommented).toEqual([]);
});

/** Whether the line belongs to an entry, less indented and above it, that the pattern describes. */
function isInside(lines: readonly string[], at: number, pattern: RegExp): boolean {
  const depth = (line: string) => line.length - line.trimStart().length;
  for (let i = at - 1, limit = depth(lines[at]); i >= 0 && limit > 0; i -= 1) {
    if (lines[i].trim() === '' || depth(lines[i]) >= limit) continue;
    if (pattern.test(lines[i])) return true;
    limit = depth(lines[i]);
  }
  return false;
}

test('The models of values.yaml are the demo models, in the folder that they have in the images', () => {
  const models = readText('packages/demo-models/models/models.yaml')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/path: (demo-[a-z]+)/g, 'path: /lehr/packages/demo-models/models/$1');
  expect(values.models).toBe(models);
  expect(readText('infra/docker/worker-cpu.Dockerfile')).toContain('WORKDIR /lehr\n');
});

test('The chart has the version of the package', () => {
  const { version } = JSON.parse(readText('package.json')) as { version: string };
  expect(parse(readText(`${CHART}/Chart.yaml`))).toMatchObject({ version, appVersion: version });
});

test.each([
  ['redis.conf', 'infra/redis.conf'],
  ['users.acl', 'infra/redis/users.acl'],
  ['start.sh', 'infra/redis/start.sh'],
  ['alerts.yaml', 'infra/observe/alerts.yaml'],
])('files/%s is no copy: it is a link to %s', (name, source) => {
  const path = join(ROOT, CHART, 'files', name);
  expect(lstatSync(path).isSymbolicLink()).toBe(true);
  expect(realpathSync(path)).toBe(realpathSync(join(ROOT, source)));
});
