/** The generated files of this folder: npm run docs writes them, and a test holds them equal to the code. */
import { dashboardFile } from './dashboard-file.ts';
import { DASHBOARDS } from './dashboards/index.ts';
import { metricsPage } from './metrics-page.ts';
import { ruleFile } from './rule-file.ts';

/** Path from the root of the repository, and content. */
export const observeFiles = (): readonly (readonly [path: string, content: string])[] => [
  ['infra/observe/alerts.yaml', ruleFile()],
  ['docs/metrics.md', metricsPage()],
  ...DASHBOARDS.map((facts) => [`infra/observe/grafana/${facts.id}.json`, dashboardFile(facts)] as const),
];
