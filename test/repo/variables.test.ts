/** The list of known variables against the tree: a name that is missing in it would stop the programs as a misspelt one. */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { ENV, OTHER_VARIABLES } from '../../packages/shared/src/config/env.ts';
import { ROOT, readText } from './readme.ts';

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
}).split('\n');
/** Tests of the configuration name misspelt variables. */
const read = files.filter(
  (path) =>
    /\.(ts|mjs|md|yaml|json|Dockerfile)$/.test(path) &&
    !/confi[\w-]*\.test\.ts$|config\/env\.test\.ts$|settings\.test\.ts$/.test(path),
);
/** The files that make the schema name every variable and read none. */
const SCHEMA = /config\/(env|variables\/\w+)\.ts$|tracing\/variables\.ts$/;
const named = new Set(read.flatMap((path) => readText(path).match(/\bLEHR_[A-Z0-9_]*[A-Z0-9]\b/g) ?? []));

test('Every variable that the code, the docs or the images name is known to the configuration', () => {
  expect(named.size).toBeGreaterThan(30);
  const known = [...Object.keys(ENV), ...OTHER_VARIABLES];
  expect([...named].filter((name) => !known.includes(name))).toEqual([]);
});

test('Every variable of the other programs is read somewhere', () => {
  for (const name of OTHER_VARIABLES) {
    const users = read.filter((path) => !SCHEMA.test(path) && readText(path).includes(name));
    expect(users, name).not.toEqual([]);
  }
});

/** OpenTelemetry's exporter and resource detector read these themselves; test/observe/traces.test.ts sets the first two. */
const READ_BY_LIBRARY = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_SERVICE_NAME', 'OTEL_RESOURCE_ATTRIBUTES'];

test('Every variable in the schema is read by a program', () => {
  const sources = read.filter(
    (path) =>
      /^(apps|infra|packages)\/.*\.(ts|mjs)$/.test(path) && !/\.test\.ts$/.test(path) && !SCHEMA.test(path),
  );
  for (const name of Object.keys(ENV).filter((each) => !READ_BY_LIBRARY.includes(each))) {
    const use = new RegExp(`[.{,]\\s*${name}\\b`);
    const uses = sources.filter((path) => use.test(readText(path)));
    expect(uses, `${name} is in the schema, and nothing uses it`).not.toEqual([]);
  }
});
