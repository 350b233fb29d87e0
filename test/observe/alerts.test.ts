/** The alerts of infra/observe, evaluated by Prometheus's own tool. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { METRICS } from '@lehr/shared';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { ALERT_GROUPS } from '../../infra/observe/alerts.ts';
import { observeFiles } from '../../infra/observe/files.ts';
import { metricsOf } from '../../infra/observe/metrics-page.ts';
import { objectiveAlerts } from '../../infra/observe/objectives.ts';
import { ROOT } from '../repo/readme.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { ALERT_CASES } from './alert-cases.ts';

const RULES = join(ROOT, 'infra/observe/alerts.yaml');
const ALERTS = [...objectiveAlerts(), ...ALERT_GROUPS.flatMap(({ alerts }) => alerts)];

/** What promtool prints; rejects when it finds a fault. */
const promtool = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)('promtool', args)).stdout;

interface RuleTest {
  readonly alert: string;
  readonly at: string;
  readonly every: string;
  readonly series: Readonly<Record<string, string>>;
  /** How many alerts of this name fire at this time. */
  readonly firing: number;
}

/** A test as promtool reads it. */
const ruleTest = ({ alert, at, every, series, firing }: RuleTest): object => ({
  interval: every,
  input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
  promql_expr_test: [
    {
      expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`,
      eval_time: at,
      exp_samples: [{ labels: '{}', value: firing }],
    },
  ],
});

test.each(observeFiles())('%s is what npm run docs writes', async (path, content) => {
  expect(await readFile(join(ROOT, path), 'utf8')).toBe(content);
});

test('Prometheus accepts the rules', async () => {
  expect(await promtool('check', 'rules', RULES)).toContain('SUCCESS');
});

test('Every alert fires when it should, and not when things only look similar', {
  tags: ['long'],
}, async () => {
  expect(Object.keys(ALERT_CASES).sort()).toEqual(ALERTS.map(({ alert }) => alert).sort());
  const folder = await tempFolder('rules');
  // Long windows are evaluated less often: three days of minutes take promtool minutes.
  for (const every of ['1m', '10m', '30m'] as const) {
    const cases = Object.entries(ALERT_CASES).filter(([, facts]) => (facts.every ?? '1m') === every);
    const tests = cases.flatMap(([alert, { at, fires, quiet }]) => [
      ruleTest({ alert, at, every, series: fires, firing: 1 }),
      ruleTest({ alert, at, every, series: quiet, firing: 0 }),
    ]);
    const file = join(folder, `${every}.yaml`);
    await writeFile(file, stringify({ rule_files: [RULES], evaluation_interval: every, tests }));
    expect(await promtool('test', 'rules', file)).toContain('SUCCESS');
  }
});

test('Alerts use only metrics and labels that Lehr has, and say what to do', async () => {
  const page = await readFile(join(ROOT, 'docs/alerts.md'), 'utf8');
  const known = new Set(Object.values(METRICS).map(({ name }) => name));
  for (const { alert, expr, summary } of ALERTS) {
    const unknown = metricsOf(expr).filter((name) => name.startsWith('lehr_') && !known.has(name as never));
    expect({ alert, unknown }).toEqual({ alert, unknown: [] });
    expect(summary).toMatch(/^.*\.$/);
    expect(page.split('\n')).toContain(`## ${alert}`);
  }
});
