/** The generated files of this folder: npm run docs writes them, and a test holds them equal to the code. */
import { stringify } from 'yaml';
import { ALERT_GROUPS, type Alert } from './alerts.ts';
import { dashboardFile } from './dashboard-file.ts';
import { DASHBOARDS } from './dashboards/index.ts';
import { metricsPage } from './metrics-page.ts';
import { objectiveAlerts, objectiveRecordings } from './objectives.ts';

const HEAD = `# Made by npm run docs from infra/observe/alerts.ts and objectives.ts; do not edit.
# docs/alerts.md says what each alert means and what to do.

`;

/** The page with the sections that the alerts point to; a copy of the rules may name its full address. */
const RUNBOOK = 'docs/alerts.md';

function ruleFile(): string {
  // Rules of a group are evaluated in their order, so an alert of the objectives reads what was recorded just before.
  const objectives = [...objectiveRecordings(), ...objectiveAlerts().map(toRule)];
  const others = ALERT_GROUPS.map((group) => ({ name: group.name, rules: group.alerts.map(toRule) }));
  const groups = [{ name: 'lehr-objectives', rules: objectives }, ...others];
  return HEAD + stringify({ groups }, { lineWidth: 130 });
}

const toRule = ({ alert, expr, for: wait, severity, summary }: Alert): object => ({
  alert,
  expr,
  for: wait,
  labels: { severity },
  annotations: { summary, runbook: `${RUNBOOK}#${alert.toLowerCase()}` },
});

/** Path from the root of the repository, and content. */
export const observeFiles = (): readonly (readonly [path: string, content: string])[] => [
  ['infra/observe/alerts.yaml', ruleFile()],
  ['docs/metrics.md', metricsPage()],
  ...DASHBOARDS.map((facts) => [`infra/observe/grafana/${facts.id}.json`, dashboardFile(facts)] as const),
];
