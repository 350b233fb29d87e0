import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ConfigError } from '../base/errors.ts';
import { envSchema } from './env.ts';
import { readSettings } from './settings.ts';

const SCHEMA = envSchema('LEHR_HOME', 'LEHR_MODELS', 'LEHR_PORT', 'LEHR_STORE_SECRET', 'LEHR_S3_BUCKET');
const MODELS = 'models: [{ name: tiny, task: diffusion, versions: [{ version: "1", path: tiny }] }]';

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'lehr-settings-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  await writeFile(join(path, 'offered.yaml'), MODELS);
  return path;
}

const read = (home: string, source: Record<string, string> = {}) =>
  readSettings(
    SCHEMA,
    { LEHR_HOME: home, LEHR_MODELS: join(home, 'offered.yaml'), ...source },
    { defaultModels: join(home, 'demo/models.yaml'), check: () => [] },
  );

async function faultsOf(home: string, source: Record<string, string>): Promise<readonly string[]> {
  const error = await read(home, source).catch((thrown: unknown) => thrown);
  if (!(error instanceof ConfigError)) throw new Error(`wanted a ConfigError, got ${String(error)}`);
  return error.faults;
}

test('Settings hold the variables and the models with the absolute path of their file', async () => {
  const home = await folder();
  const { config, models } = await read(home);
  expect(config).toMatchObject({ LEHR_PORT: 8080, LEHR_S3_BUCKET: undefined });
  expect(models.path).toBe(join(home, 'offered.yaml'));
  expect(models.registry.models.map(({ name }) => name)).toEqual(['tiny']);
  expect(models.registry.changedAtS).toBeCloseTo(Date.now() / 1000, -2);
});

test('Faults of variables, models file and secret files are reported together', async () => {
  const home = await folder();
  await writeFile(join(home, 'store-secret'), 'hunter2');
  const faults = await faultsOf(home, {
    LEHR_PORT: 'http',
    LEHR_PROT: '8080',
    LEHR_S3_BUCKET: 'x',
    LEHR_MODELS: '/nowhere/models.yaml',
  });
  expect(faults).toEqual([
    'LEHR_PORT is "http": must be a number',
    'LEHR_S3_BUCKET is "x": must have at least 3 characters',
    'LEHR_PROT is not a variable of Lehr: did you mean LEHR_PORT?',
    'LEHR_MODELS is "/nowhere/models.yaml": it does not exist',
    `${join(home, 'store-secret')} holds 7 characters, wanted at least 32; delete it`,
  ]);
});

test.each([
  ['models: [', /^LEHR_MODELS is ".*offered\.yaml": it cannot be used: models\.yaml is not YAML: /],
  ['models: []', /cannot be used: models\.yaml is not usable:\n {2}- models: /],
  [MODELS.replace('diffusion', 'painting'), /\n {2}- models\.0\.task: /],
])('A models file with the content %j is a fault that names its place', async (text, wanted) => {
  const home = await folder();
  await writeFile(join(home, 'offered.yaml'), text);
  expect(await faultsOf(home, {})).toEqual([expect.stringMatching(wanted)]);
});

test('A models file that cannot be read is a fault', async () => {
  const home = await folder();
  await mkdir(join(home, 'a-folder'));
  expect(await faultsOf(home, { LEHR_MODELS: join(home, 'a-folder') })).toEqual([
    expect.stringMatching(/^LEHR_MODELS is ".*a-folder": it cannot be used: EISDIR/),
  ]);
});

test('Without LEHR_MODELS, a models.yaml in LEHR_HOME is used before the shipped one', async () => {
  const home = await folder();
  await writeFile(join(home, 'models.yaml'), MODELS);
  expect((await read(home, { LEHR_MODELS: '' })).models.path).toBe(join(home, 'models.yaml'));
});

test('A missing default models file is named as the default of LEHR_MODELS', async () => {
  const home = await folder();
  expect(await faultsOf(home, { LEHR_MODELS: '' })).toEqual([
    `The default of LEHR_MODELS, "${join(home, 'demo/models.yaml')}", does not exist`,
  ]);
});
