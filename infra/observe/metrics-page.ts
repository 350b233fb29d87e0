/** docs/metrics.md: every metric of the list, and what reads it. */
import { METRICS } from '@lehr/shared';
import { CHARTS } from '../../apps/api/src/operations/queries.ts';
import type { MetricFacts } from '../../packages/shared/src/base/metric-lists/facts.ts';
import { INFERENCE_METRICS } from '../../packages/shared/src/base/metric-lists/inference.ts';
import { JOB_METRICS } from '../../packages/shared/src/base/metric-lists/jobs.ts';
import { API_METRICS, WORKER_METRICS } from '../../packages/shared/src/base/metric-lists/processes.ts';
import { ALERT_GROUPS } from './alerts.ts';
import { DASHBOARDS } from './dashboards/index.ts';
import { objectiveRecordings } from './objectives.ts';

const SECTIONS: readonly (readonly [title: string, metrics: Readonly<Record<string, MetricFacts>>])[] = [
  ['Jobs and the fleet', JOB_METRICS],
  ['Requests, webhooks and Redis', API_METRICS],
  ['Models', INFERENCE_METRICS],
  ['Workers', WORKER_METRICS],
];

/** The names of the metrics that a query reads, without the suffixes that a histogram's series have. Names of recorded queries have a colon and are left out. */
export function metricsOf(expr: string): string[] {
  const names = expr.match(/\b(?:lehr_|DCGM_|container_|process_|nodejs_)\w+(?!:)\b/g) ?? [];
  return [...new Set(names.map((name) => name.replace(/_(?:bucket|count|sum)$/, '')))];
}

/** Of each metric, the titles of what reads it. */
function readers(): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  const note = (expr: string, reader: string): void => {
    for (const name of metricsOf(expr)) found.set(name, (found.get(name) ?? new Set()).add(reader));
  };
  for (const { title, sections } of DASHBOARDS) {
    const queries = sections.flatMap(({ panels }) => panels.flatMap((panel) => panel.queries));
    for (const { expr } of queries) note(expr, `dashboard ${title.replace(/^Lehr: /, '')}`);
  }
  for (const { alerts } of ALERT_GROUPS) {
    for (const { alert, expr } of alerts) note(expr, `[${alert}](alerts.md#${alert.toLowerCase()})`);
  }
  for (const { expr } of objectiveRecordings()) note(expr, '[objectives](alerts.md#objectives)');
  for (const { queries } of Object.values(CHARTS)) {
    for (const { expr } of queries) note(expr, '[charts](studio.md#charts)');
  }
  return found;
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

function row({ name, kind, labels, apps, help }: MetricFacts, readBy: ReadonlySet<string>): string {
  const shown = labels.map((label) => `\`${label}\``).join(', ');
  return `| \`${name}\` | ${kind} | ${shown} | ${apps.join(', ')} | ${cell(help)} | ${[...readBy].join(', ')} |`;
}

export function metricsPage(): string {
  const found = readers();
  const tables = SECTIONS.map(([title, metrics]) => {
    const rows = Object.values(metrics).map((facts) => row(facts, found.get(facts.name) ?? new Set()));
    return [
      `## ${title}\n`,
      '| Metric | Kind | Labels | Of | What it says | Read by |',
      '| --- | --- | --- | --- | --- | --- |',
      ...rows,
    ].join('\n');
  });
  return `# Metrics

Made by \`npm run docs\` from [the lists of metrics](../packages/shared/src/base/metric-lists); do not edit.

API processes serve these ${Object.keys(METRICS).length} metrics at \`/metrics\`, each worker its own at the same path of \`LEHR_WORKER_PORT\`. Times are in
seconds, sizes in bytes. Labels have few values: a model, its version, a class, an outcome; never a job, and a tenant only where
[\`LEHR_METRICS_TENANTS\`](operating.md#cost-of-tenants) asks for it. Both also have the metrics of Node.js (\`process_…\`, \`nodejs_…\`).

Where API and worker have a metric, their values add up. Gauges of the queue and of rollouts are the same at every API process: take their maximum. While
[traces](traces.md) are on, times of requests, jobs, waits and webhooks name a trace for scrapes that accept OpenMetrics.

What recording them costs is measured by \`npm run lab -- bench metrics\`.

${tables.join('\n\n')}
`;
}
