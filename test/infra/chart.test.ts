/** The Helm chart without Helm: its templates use values that exist. `npm run test:cluster` renders and applies it. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROOT, readText } from '../house/readme.ts';
import { expectUsable } from '../house/variables.ts';
import { objectsOf } from './kustomizations.ts';

const CHART = 'infra/helm/lehr';
const templates = readdirSync(join(ROOT, CHART, 'templates')).map((name) => `${CHART}/templates/${name}`);
const values = parse(readText(`${CHART}/values.yaml`)) as Record<string, unknown>;

interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly required?: readonly string[];
}
const schema = JSON.parse(readText(`${CHART}/values.schema.json`)) as Schema;

/** What a path such as `api.min` leads to; undefined when it leads nowhere. */
const at = (value: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((place, name) => (place as Record<string, unknown> | undefined)?.[name], value);

test('Every value that a template uses is in values.yaml and described in its schema', () => {
  const used = templates.flatMap((path) =>
    [...readText(path).matchAll(/\.Values\.([\w.]+)/g)].map(([, name]) => name),
  );
  expect(new Set(used).size).toBeGreaterThan(12);
  for (const path of used) {
    expect(at(values, path), path).toBeDefined();
    const described = at(
      schema,
      path
        .split('.')
        .flatMap((name) => ['properties', name])
        .join('.'),
    ) as Schema;
    expect(described?.description, path).toMatch(/\.$/);
  }
});

test('Every value of values.yaml is used by a template', () => {
  const text = templates.map(readText).join('\n');
  for (const [group, value] of Object.entries(values)) {
    const isGroup = schema.properties?.[group].properties !== undefined;
    const paths = isGroup ? Object.keys(value as object).map((name) => `${group}.${name}`) : [group];
    for (const path of paths) expect(text).toContain(`.Values.${path}`);
  }
});

test('Every field of a pool that the template uses is required or has a default', () => {
  const pool = schema.properties?.pools.additionalProperties as Schema;
  const text = readText(`${CHART}/templates/pools.yaml`);
  for (const [whole, field] of text.matchAll(/\$pool\.(\w+)(?: \| default)?/g)) {
    expect(Object.keys(pool.properties ?? {})).toContain(field);
    if (!whole.includes('default')) expect(pool.required).toContain(field);
  }
  for (const each of Object.values(values.pools as Record<string, Record<string, unknown>>))
    for (const field of pool.required ?? []) expect(each[field], field).toBeDefined();
});

test('The schema allows no value that is not named', () => {
  const closed = (each: Schema): boolean =>
    each.properties === undefined ||
    (each.additionalProperties === false && Object.values(each.properties).every(closed));
  expect(closed(schema)).toBe(true);
});

test('The settings of values.yaml are variables that exist', () => {
  expectUsable(values.settings as Record<string, string>);
});

test.each(templates)('%s is YAML between its expressions', (path) => {
  const text = readText(path)
    .replaceAll(/^\{\{.*\}\}\n/gm, '')
    .replaceAll(/\{\{.*?\}\}/g, 'null');
  for (const object of objectsOf(text).filter(Boolean)) expect(object.kind).toMatch(/^[A-Z]\w+$/);
});
