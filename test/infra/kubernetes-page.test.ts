/**
 * The commands and values of docs/kubernetes.md and docs/aws.md. `npm run lab -- cluster` runs those of the first that need a cluster on a
 * control plane.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseModels } from '../../packages/shared/src/config/models-watch.ts';
import { SCOPES } from '../../packages/shared/src/contracts/api-key.ts';
import { blocksOf, ROOT, readText } from '../repo/readme.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { CHART, helm, objectsOf, template } from './helm.ts';
import { ofKind, workloads } from './pod-facts.ts';

const blocks = ['docs/kubernetes.md', 'docs/aws.md'].flatMap((page) => blocksOf(readText(page)));
const commands = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text);
const values = blocks.filter(({ label }) => label === 'values').map(({ text }) => text);

test('The shell can read the commands of the pages, and their files exist', () => {
  expect(commands.length).toBeGreaterThan(10);
  for (const text of commands) {
    execFileSync('sh', ['-n'], { input: text });
    for (const [path] of text.matchAll(/\binfra\/[\w/.-]+\b/g))
      expect(existsSync(join(ROOT, path)), path).toBe(true);
  }
});

test('The images that the page builds are those of infra/docker', () => {
  const [, names] = /^for image in ([a-z -]+); do$/m.exec(commands.join('\n')) ?? [];
  expect(names.split(' ')).toEqual(['api', 'worker-cpu', 'worker-cuda']);
  for (const name of names.split(' '))
    expect(existsSync(join(ROOT, `infra/docker/${name}.Dockerfile`))).toBe(true);
});

test('secrets.sh leaves out what the page says when addresses are given', () => {
  const [text] = commands.filter((each) => each.includes('REDIS_API_URL'));
  const out = execFileSync('sh', ['-c', text.replace(' > lehr-secrets.yaml', '')], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const secrets = objectsOf(out) as unknown as {
    metadata: { name: string };
    stringData: Record<string, string>;
  }[];
  expect(secrets.map(({ metadata }) => metadata.name)).toEqual(['lehr-api', 'lehr-worker']);
  for (const { stringData } of secrets) expect(stringData.LEHR_REDIS_URL).toMatch(/^rediss:.*amazonaws/);
});

test('An upgrade waits for the new API processes before it replaces the workers', () => {
  // The condition Available stays true while pods are replaced, because old ones still answer.
  const [text] = blocks.filter(({ label }) => label === 'upgrade').map((each) => each.text);
  const between = text.slice(text.indexOf('workerTag'), text.lastIndexOf('helm upgrade'));
  for (const name of ['lehr-api', 'lehr-webhooks'])
    expect(between).toContain(`kubectl -n lehr rollout status deployment/${name} `);
});

test('On AWS, the Secrets name the Redis of the stack, and come into a namespace that was made', () => {
  const [text] = blocks.filter(({ label }) => label === 'aws').map((each) => each.text);
  for (const earlier of [
    'create namespace lehr',
    'REDIS_API_URL=rediss:',
    'REDIS_WORKER_URL=rediss:',
    'umask 077',
  ])
    expect(text.split('secrets.sh')[0]).toContain(earlier);
});

test('The models of the page are valid, and the key for KEDA has a scope that exists', () => {
  const [{ models }] = values.map((text) => parse(text) as { models?: string }).filter((each) => each.models);
  expect(parseModels('/etc/lehr/models.yaml', models ?? '', 0).models).toHaveLength(1);
  const [, scope] = /--scopes (\w+)/.exec(commands.join('\n')) ?? [];
  expect(SCOPES).toContain(scope);
});

describe.skipIf(!helm)('With Helm', () => {
  test.each(values.map((text, i) => [i + 1, text] as const))(
    'Helm accepts the values of block %i',
    async (_, text) => {
      const file = join(await tempFolder('values'), 'values.yaml');
      writeFileSync(file, text);
      expect(workloads(objectsOf(template('-f', file))).length).toBeGreaterThan(2);
    },
  );

  test('Helm installs, upgrades and prints the chart with the options of the pages', () => {
    const lines = commands.join('').split('\n');
    const uses = lines.filter((line) => /^helm (install|upgrade|template) /.test(line));
    expect(uses).toHaveLength(5);
    for (const line of uses) {
      const [, , release, chart, ...options] = line
        .replace(/ > \S+$/, '')
        .replace('"$OLD"', '0.0.9')
        .split(' ');
      expect([release, chart]).toEqual(['lehr', CHART]);
      expect(workloads(objectsOf(template(...options))).length, line).toBeGreaterThan(3);
    }
  });

  test('The key for KEDA is stored under the name that the objects read', () => {
    const [, secret, key] =
      /create secret generic ([\w-]+) --from-literal=(\w+)=/.exec(commands.join('\n')) ?? [];
    const objects = objectsOf(template('--set', 'pools.cpu.scaler=keda'));
    const [{ spec }] = ofKind(objects, 'TriggerAuthentication');
    expect(spec).toMatchObject({ secretTargetRef: [{ name: secret, key }] });
  });
});
