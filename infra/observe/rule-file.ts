/** Writes the rules as the file that Prometheus reads. */
import { stringify } from 'yaml';
import { ALERT_GROUPS } from './alerts.ts';
import { objectiveAlerts, objectiveRecordings } from './objectives.ts';
import type { Alert } from './rules.ts';

const HEAD = `# Made by npm run docs from infra/observe/alerts.ts and objectives.ts; do not edit.
# docs/alerts.md says what each alert means and what to do.

`;

/** The page with the sections that the alerts point to; a copy of the rules may name its full address. */
const RUNBOOK = 'docs/alerts.md';

export function ruleFile(): string {
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
