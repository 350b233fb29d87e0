/** The commands and values of docs/kubernetes.md, as far as they can be checked without a cluster. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { SCOPES } from '../../packages/shared/src/contracts/api-key.ts';
import { blocksOf, ROOT, readText } from '../house/readme.ts';
import { objectsOf } from './kustomizations.ts';

const blocks = blocksOf(readText('docs/kubernetes.md'));
const commands = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text);

test('The shell can read the commands of the page, and their files exist', () => {
  expect(commands.length).toBeGreaterThan(3);
  for (const text of commands) {
    execFileSync('sh', ['-n'], { input: text });
    for (const [path] of text.matchAll(/\binfra\/[\w/.-]+/g))
      expect(existsSync(join(ROOT, path)), path).toBe(true);
  }
});

test('The key for KEDA is stored under the name that the objects read, with a scope that exists', () => {
  const text = commands.join('\n');
  const [, scope] = /--scopes (\w+)/.exec(text) ?? [];
  expect(SCOPES).toContain(scope);
  const [, secret, key] = /create secret generic ([\w-]+) --from-literal=(\w+)=/.exec(text) ?? [];
  const objects = objectsOf(readText('infra/k8s/components/keda/keda.yaml'));
  const authentication = objects.find(({ kind }) => kind === 'TriggerAuthentication');
  expect(authentication?.spec).toMatchObject({ secretTargetRef: [{ name: secret, key }] });
});

test('The pool that the page shows for the chart has the fields that its schema wants', () => {
  const values = blocks
    .filter(({ language }) => language === 'yaml')
    .map(({ text }) => parse(text) as { pools?: Record<string, object | null> })
    .find(({ pools }) => pools);
  const schema = JSON.parse(readText('infra/helm/lehr/values.schema.json')) as {
    properties: { pools: { additionalProperties: { required: string[]; properties: object } } };
  };
  const { required, properties } = schema.properties.pools.additionalProperties;
  const pool = Object.keys(values?.pools?.['t4-diffusion'] ?? {});
  expect(pool).toEqual(expect.arrayContaining(required));
  expect(Object.keys(properties)).toEqual(expect.arrayContaining(pool));
});
