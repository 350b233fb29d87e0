/** The metrics that are named anywhere, against those that Lehr has. */
import { execFileSync } from 'node:child_process';
import { METRICS } from '@lehr/shared';
import { expect, test } from 'vitest';
import { metricsOf } from '../../infra/observe/metrics-page.ts';
import { ROOT, readText } from '../repo/readme.ts';

const NAMES = new Set<string>(Object.values(METRICS).map(({ name }) => name));
/** Made by Prometheus from others; the beginnings of API keys; or the volume of Redis in compose. */
const OTHER = /^lehr_(?:(?:live|test|local|bench|dev|prod)_|redis$)|_$/;

test('Every metric that a page, a dashboard, an alert, a chart or a scaler names is one that Lehr has', () => {
  const files = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', 'docs', 'infra'],
    {
      cwd: ROOT,
      encoding: 'utf8',
    },
  );
  const named = files
    .split('\n')
    .filter((path) => /\.(?:md|ts|ya?ml|json)$/.test(path))
    .flatMap((path) => metricsOf(readText(path)).map((name) => ({ path, name })));
  const unknown = named.filter(
    ({ name }) => name.startsWith('lehr_') && !OTHER.test(name) && !NAMES.has(name),
  );
  expect(named.length).toBeGreaterThan(200);
  expect(unknown).toEqual([]);
});

test('docs/metrics.md has a row for every metric, with its kind and all of its labels', () => {
  const rows = readText('docs/metrics.md').split('\n');
  for (const { name, kind, labels } of Object.values(METRICS)) {
    const row = rows.find((line) => line.startsWith(`| \`${name}\` | ${kind} |`));
    expect(row, name).toBeDefined();
    for (const label of labels) expect(row, name).toContain(`\`${label}\``);
  }
});
